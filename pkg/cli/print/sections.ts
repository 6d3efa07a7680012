import type { Condition } from '../../../crds/meta/index.js';
import type { EventView } from '../../../crds/event/index.js';
import { formatTable, type Row } from './table.js';
import { formatAge, formatSpan } from '../../../crds/grammar/index.js';
import type { Paint } from '../../terminal/index.js';
import { stripControls } from './text.js';

/** What a text depends on beside the object that it describes. */
interface PrintContext {
  readonly now: number;
  readonly ink: Paint;
}

const EVENTS_SHOWN = 15;

/** One line: a name and what it is; left out when it is nothing. */
export type Fact = readonly [name: string, value: string | undefined, paint?: (text: string) => string];

/** One line for each fact. */
export function formatFacts(facts: readonly Fact[], { ink }: PrintContext): string {
  return facts
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value = '', paint = (text: string) => text]) => {
      return `${ink.bold(`${name}:`.padEnd(15))} ${paint(stripControls(value))}\n`;
    })
    .join('');
}

/** The newest events of an object, and those that say since when it exists and where it was placed last. */
export function formatEvents(events: readonly EventView[], { ink, now }: PrintContext): string {
  const rows = chooseEvents(events).map(({ at, lastSeenAt, type, count, message }) => {
    const span = formatSpan(Date.parse(lastSeenAt) - Date.parse(at));
    return [formatAge(lastSeenAt, now), type, count > 1 ? `${count} in ${span}` : String(count), message];
  });
  return formatSection('Events', ['LAST SEEN', 'TYPE', 'COUNT', 'MESSAGE'], rows, ink.bold);
}

function chooseEvents(events: readonly EventView[]): readonly EventView[] {
  if (events.length <= EVENTS_SHOWN) return events;
  const created = events.find(({ type }) => type === 'deployment.created');
  const placed = events.findLast(({ type }) => type === 'deployment.placed');
  const pinned = [created, placed].filter(event => event !== undefined);
  const newest = events.slice(pinned.length - EVENTS_SHOWN);
  return [...pinned.filter(event => !newest.includes(event)), ...newest];
}

/** The conditions of an object, one line each. */
export function formatConditions(conditions: readonly Condition[], { ink, now }: PrintContext): string {
  const rows = conditions.map(({ type, status, reason, message, lastTransitionTime }) => [
    type,
    status,
    reason,
    formatAge(lastTransitionTime, now),
    message,
  ]);
  return formatSection('Conditions', ['TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'], rows, ink.bold);
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
