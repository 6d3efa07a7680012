import type { EventView } from '../views.js';
import { formatTable, type Row } from './table.js';
import { formatAge, type Paint, stripControls } from './text.js';

/** What a text depends on beside the object that it describes. */
interface Look {
  readonly now: number;
  readonly ink: Paint;
}

const EVENTS_SHOWN = 15;

/** One line: a name and what it is; left out when it is nothing. */
export type Fact = readonly [name: string, value: string | undefined, paint?: (text: string) => string];

/** One line for each fact. */
export function formatFacts(facts: readonly Fact[], { ink }: Look): string {
  return facts
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value = '', paint = (text: string) => text]) => {
      return `${ink.bold(`${name}:`.padEnd(15))} ${paint(stripControls(value))}\n`;
    })
    .join('');
}

/** The newest events of an object. */
export function formatEvents(events: readonly EventView[], { ink, now }: Look): string {
  const rows = events
    .slice(-EVENTS_SHOWN)
    .map(({ lastSeenAt, type, count, message }) => [formatAge(lastSeenAt, now), type, String(count), message]);
  return formatSection('Events', ['LAST SEEN', 'TYPE', 'COUNT', 'MESSAGE'], rows, ink.bold);
}

/** A table below a title; nothing without rows. */
export function formatSection(
  title: string,
  titles: readonly string[],
  rows: readonly Row[],
  bold: (text: string) => string,
): string {
  if (rows.length === 0) return '';
  const indented = formatTable(titles, rows).replace(/^/gm, '  ').trimEnd();
  return `${bold(`${title}:`)}\n${indented}\n`;
}
