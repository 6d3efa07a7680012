import {
  catalogue,
  type ExampleRequest,
  getEntry,
  isRejectionCode,
  type RejectionCode,
  type SpecSection,
} from '../../crds/rejections/index.js';
import { escaped, page } from './html.js';

/** Everything the reference says about one code. */
export interface CodeView {
  readonly code: RejectionCode;
  readonly section: SpecSection;
  readonly status: number;
  readonly expected: string;
  readonly why: string;
  readonly remedy: string;
  readonly example: ExampleRequest;
  readonly mended: ExampleRequest;
  /** Path of the page. */
  readonly doc: string;
}

const TITLES: Readonly<Record<SpecSection, string>> = {
  '7.1': 'Deployment, name, image, replicas',
  '7.2': 'Health check',
  '7.3': 'Secrets',
  '7.4': 'Placement, nodes, networks, jobs',
  '7.5': 'Volumes, recommendations, queries',
  ours: 'Requests, callers and other fields',
  failure: 'Failures of the platform',
};

/** What the codes of a section are about. */
export function sectionTitle(section: SpecSection): string {
  return TITLES[section];
}

/** The reference of a code; undefined when there is no such code. */
export function codeView(text: string): CodeView | undefined {
  if (!isRejectionCode(text)) return undefined;
  const { section, status, expected, why, remedy, example, fixed: mended, sample } = getEntry(text);
  return {
    code: text,
    section,
    status: typeof status === 'function' ? status(sample) : status,
    expected: typeof expected === 'function' ? expected(sample) : expected,
    why,
    remedy,
    example,
    mended,
    doc: `/docs/codes/${text}`,
  };
}

/** Every code, grouped by section in the order of the specification. */
export function codeIndexView(): readonly { readonly title: string; readonly codes: readonly CodeView[] }[] {
  const views = Object.keys(catalogue).flatMap(code => codeView(code) ?? []);
  return (Object.keys(TITLES) as SpecSection[])
    .map(section => ({ title: TITLES[section], codes: views.filter(view => view.section === section) }))
    .filter(({ codes }) => codes.length > 0);
}

/** An example as a page prints it. */
export function exampleText(example: ExampleRequest): string {
  return typeof example === 'string' ? example : JSON.stringify(example, undefined, 2);
}

/** The page of a code; undefined when there is no such code. */
export function codePage(text: string): string | undefined {
  const view = codeView(text);
  return view && page(view.code, bodyOf(view));
}

function bodyOf(view: CodeView): string {
  return [
    `<p><a href="/docs/codes">All codes</a> <span class="soft">· ${escaped(sectionTitle(view.section))}</span></p>`,
    `<h1>${view.code}</h1>`,
    `<p>${escaped(view.why)}</p>`,
    '<dl>',
    `<dt>HTTP status</dt><dd>${view.status}</dd>`,
    `<dt>Accepted</dt><dd>${escaped(view.expected)}</dd>`,
    `<dt>What to do</dt><dd>${escaped(view.remedy)}</dd>`,
    '</dl>',
    '<h2>A request that is refused with this code</h2>',
    `<pre>${escaped(exampleText(view.example))}</pre>`,
    '<h2>The same request, fixed</h2>',
    `<pre>${escaped(exampleText(view.mended))}</pre>`,
  ].join('\n');
}

/** The list of all codes. */
export function codeIndexPage(): string {
  const sections = codeIndexView().map(({ title, codes }) =>
    [
      `<h2>${escaped(title)}</h2>`,
      '<table>',
      '<tr><th>Code</th><th>Status</th><th>Accepted</th></tr>',
      ...codes.map(rowOf),
      '</table>',
    ].join('\n'),
  );
  const intro =
    '<h1>Codes</h1>\n<p>Branch on the code, never on the wording. A rejection means that nothing was stored.</p>';
  return page('Codes', [intro, ...sections].join('\n'));
}

function rowOf({ code, status, expected, doc }: CodeView): string {
  return `<tr><td><a href="${doc}"><code>${code}</code></a></td><td>${status}</td><td>${escaped(expected)}</td></tr>`;
}
