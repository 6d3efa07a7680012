import {
  catalogue,
  type ExampleRequest,
  getEntry,
  isRejectionCode,
  type RejectionCode,
  type SpecSection,
} from '../../crds/rejections/index.js';
import { escapeHtml, renderPage } from './html.js';

/** Everything the reference says about one code. */
export interface CodeView {
  readonly code: RejectionCode;
  readonly section: SpecSection;
  readonly status: number;
  readonly expected: string;
  readonly why: string;
  readonly remedy: string;
  readonly example: ExampleRequest;
  readonly fixed: ExampleRequest;
  /** Path of the page. */
  readonly doc: string;
}

/** What the codes of a section are about. */
const TITLES: Readonly<Record<SpecSection, string>> = {
  '7.1': 'Deployment, name, image, replicas',
  '7.2': 'Health check',
  '7.3': 'Secrets',
  '7.4': 'Placement, nodes, networks, jobs',
  '7.5': 'Volumes, recommendations, queries',
  ours: 'Requests, callers and other fields',
  failure: 'Failures of the platform',
};

/** The reference of a code; undefined when there is no such code. */
export function readCodeView(text: string): CodeView | undefined {
  if (!isRejectionCode(text)) return undefined;
  const { section, status, expected, why, remedy, example, fixed, sample } = getEntry(text);
  return {
    code: text,
    section,
    status: typeof status === 'function' ? status(sample) : status,
    expected: typeof expected === 'function' ? expected(sample) : expected,
    why,
    remedy,
    example,
    fixed,
    doc: `/docs/codes/${text}`,
  };
}

/** Every code, grouped by section in the order of the specification. */
export function listCodeViews(): readonly { readonly title: string; readonly codes: readonly CodeView[] }[] {
  const views = Object.keys(catalogue).flatMap(code => readCodeView(code) ?? []);
  return (Object.keys(TITLES) as SpecSection[])
    .map(section => ({ title: TITLES[section], codes: views.filter(view => view.section === section) }))
    .filter(({ codes }) => codes.length > 0);
}

/** An example as a page prints it. */
export function formatExampleText(example: ExampleRequest): string {
  return typeof example === 'string' ? example : JSON.stringify(example, undefined, 2);
}

/** The page of a code; undefined when there is no such code. */
export function renderCodePage(text: string): string | undefined {
  const view = readCodeView(text);
  return view && renderPage(view.code, renderCodeBody(view));
}

function renderCodeBody(view: CodeView): string {
  return [
    `<p><a href="/docs/codes">All codes</a> <span class="soft">· ${escapeHtml(TITLES[view.section])}</span></p>`,
    `<h1>${view.code}</h1>`,
    `<p>${escapeHtml(view.why)}</p>`,
    '<dl>',
    `<dt>HTTP status</dt><dd>${view.status}</dd>`,
    `<dt>Accepted</dt><dd>${escapeHtml(view.expected)}</dd>`,
    `<dt>What to do</dt><dd>${escapeHtml(view.remedy)}</dd>`,
    '</dl>',
    '<h2>A request that is refused with this code</h2>',
    `<pre>${escapeHtml(formatExampleText(view.example))}</pre>`,
    '<h2>The same request, fixed</h2>',
    `<pre>${escapeHtml(formatExampleText(view.fixed))}</pre>`,
  ].join('\n');
}

/** The list of all codes. */
export function renderCodeIndexPage(): string {
  const sections = listCodeViews().map(({ title, codes }) =>
    [
      `<h2>${escapeHtml(title)}</h2>`,
      '<table>',
      '<tr><th>Code</th><th>Status</th><th>Accepted</th></tr>',
      ...codes.map(renderCodeRow),
      '</table>',
    ].join('\n'),
  );
  const intro =
    '<h1>Codes</h1>\n<p>Branch on the code, never on the wording. A rejection means that nothing was stored.</p>';
  return renderPage('Codes', [intro, ...sections].join('\n'));
}

function renderCodeRow({ code, status, expected, doc }: CodeView): string {
  return `<tr><td><a href="${doc}"><code>${code}</code></a></td><td>${status}</td><td>${escapeHtml(expected)}</td></tr>`;
}
