import type { Source } from './source-files.js';
import { specifiedCodes } from './specified-codes.js';

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
 * and is every code of the specification there, in its section, and expected over HTTP?
 */
export function judgeRejections(
  groups: readonly Readonly<Record<string, DocumentedRow>>[],
  sources: readonly Source[],
): string[] {
  const rows = groups.flatMap(group => Object.entries(group));
  const answered = literalsIn(sources.filter(({ path }) => isProduct(path)));
  const tested = literalsIn(sources.filter(({ path }) => path.endsWith('.test.ts') && !path.startsWith('hack/')));
  const overHttp = literalsIn(sources.filter(({ path }) => /^(?:api|e2e)\/.*\.test\.ts$/.test(path)));
  const codes = rows.map(([code]) => code);
  const specified = new Set(Object.values(specifiedCodes).flat());
  return [
    ...repeated(codes).map(code => `${code}: declared twice`),
    ...rows.flatMap(([code, row]) => undocumented(code, row)),
    ...codes.flatMap(code => (answered.has(code) ? [] : [`${code}: never answered`])),
    ...codes.flatMap(code => (tested.has(code) ? [] : [`${code}: expected by no test`])),
    ...codes.flatMap(code => (specified.has(code) && !overHttp.has(code) ? [`${code}: never expected over HTTP`] : [])),
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
