import { listCodeViews, type CodeView } from '../api/docs/index.js';

/** `docs/codes.md`: every code in one table, from the catalogue. */
export function renderCodesReference(): string {
  const sections = listCodeViews().flatMap(({ title, codes }) => [
    `## ${title}`,
    '',
    '| Code | Status | Accepted | Why | What to do |',
    '|---|---|---|---|---|',
    ...codes.map(formatCodeRow),
    '',
  ]);
  return `${['# Codes', '', INTRODUCTION, '', ...sections].join('\n')}`;
}

const INTRODUCTION = [
  'Generated from `crds/rejections` by `make generate`. The API server shows the same with examples at `/docs/codes`.',
  'Branch on the code, never on the wording. A rejection means that nothing was stored.',
].join('\n');

function formatCodeRow({ code, status, expected, why, remedy }: CodeView): string {
  return `| ${[`\`${code}\``, String(status), ...[expected, why, remedy].map(inCell)].join(' | ')} |`;
}

function inCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}
