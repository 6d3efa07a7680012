import { stripControls } from './text.js';

/** One cell. `paint` colours it after it has been cut and padded, so that colours do not count as width. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

export type Row = readonly (Cell | string)[];

const GAP = '   ';
const NARROWEST = 8;

/**
 * Lays rows out in aligned columns.
 *
 * Given a width, the widest columns are cut until every row fits on one line; a cut is marked by `…`. Without a width, for
 * programs that read the output, nothing is cut.
 */
export function formatTable(titles: readonly string[], rows: readonly Row[], width?: number): string {
  const all = [titles, ...rows].map(row => row.map(toPlainCell));
  const natural = titles.map((_, column) => Math.max(...all.map(row => (row[column]?.text ?? '').length)));
  const widths = width === undefined ? natural : fit(natural, width);
  return all.map(row => `${formatRow(row, widths)}\n`).join('');
}

function toPlainCell(cell: Cell | string): Cell {
  return typeof cell === 'string' ? { text: stripControls(cell) } : { ...cell, text: stripControls(cell.text) };
}

function formatRow(row: readonly Cell[], widths: readonly number[]): string {
  const last = row.length - 1;
  return row
    .map(({ text, paint = (unpainted: string) => unpainted }, column) => {
      const size = widths[column]!;
      const shown = text.length > size ? `${text.slice(0, size - 1)}…` : text;
      return column === last ? paint(shown) : paint(shown) + ' '.repeat(size - shown.length);
    })
    .join(GAP)
    .trimEnd();
}

function fit(natural: readonly number[], width: number): readonly number[] {
  const widths = [...natural];
  const spare = () => width - widths.reduce((sum, size) => sum + size, (widths.length - 1) * GAP.length);
  while (spare() < 0) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest]! <= NARROWEST) break;
    widths[widest]!--;
  }
  return widths;
}
