import {
  catalogue,
  getEntry,
  type ExampleRequest,
  isRejectionCode,
  type RejectionCode,
  type SpecSection,
} from '../../crds/rejections/index.js';

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
