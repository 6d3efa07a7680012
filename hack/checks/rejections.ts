import type { Source } from './source-files.js';
import { later, specifiedCodes } from './specified-codes.js';

/** A row of the catalogue, as far as these questions go. */
export interface DocumentedRow {
  readonly section: string;
  readonly why: string;
  readonly remedy: string;
  readonly example: unknown;
  readonly fixed: unknown;
}

/**
 * Five questions to every code: declared once? documented? answered by some rule or handler? expected by some test?
 * and is every code of the specification there, in its section? Codes that are `later` may still be unanswered, but not
 * once a test over HTTP expects them.
 */
export function judgeRejections(
  groups: readonly Readonly<Record<string, DocumentedRow>>[],
  sources: readonly Source[],
): string[] {
  const rows = groups.flatMap(group => Object.entries(group));
  const answered = literalsIn(sources.filter(({ path }) => isProduct(path)));
  const tested = literalsIn(sources.filter(({ path }) => path.endsWith('.test.ts') && !path.startsWith('hack/')));
  const overHttp = literalsIn(sources.filter(({ path }) => /^(?:api|e2e)\/.*\.test\.ts$/.test(path)));
  const due = rows.map(([code]) => code).filter(code => !later.includes(code));
  return [
    ...repeated(rows.map(([code]) => code)).map(code => `${code}: declared twice`),
    ...rows.flatMap(([code, row]) => undocumented(code, row)),
    ...due.flatMap(code => (answered.has(code) ? [] : [`${code}: never answered`])),
    ...due.flatMap(code => (tested.has(code) ? [] : [`${code}: expected by no test`])),
    ...later.flatMap(code => (overHttp.has(code) ? [`${code}: listed as later, yet expected over HTTP`] : [])),
    ...missing(new Map(rows)),
  ];
}

function isProduct(path: string): boolean {
  return !/\.(?:test|testing|fixture|corpus|contract)\.ts$|^hack\/|^e2e\/|^crds\/rejections\/|^api\/docs\//.test(path);
}

function literalsIn(sources: readonly Source[]): ReadonlySet<string> {
  return new Set(
    sources.flatMap(({ text }) => [...text.matchAll(/'([a-z0-9]+(?:_[a-z0-9]+)+)[' ]/g)].map(([, word]) => word!)),
  );
}

function repeated(codes: readonly string[]): string[] {
  return codes.filter((code, position) => codes.indexOf(code) !== position);
}

function undocumented(code: string, row: DocumentedRow): string[] {
  return (['why', 'remedy', 'example', 'fixed'] as const)
    .filter(part => row[part] === undefined || row[part] === '')
    .map(part => `${code}: has no ${part}`);
}

function missing(rows: ReadonlyMap<string, DocumentedRow>): string[] {
  return Object.entries(specifiedCodes).flatMap(([section, codes]) =>
    codes.flatMap(code => {
      const row = rows.get(code);
      if (!row) return [`${code}: named by section ${section} and not declared`];
      return row.section === section ? [] : [`${code}: belongs to section ${section}, not ${row.section}`];
    }),
  );
}
