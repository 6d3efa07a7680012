import type { HistoryRecord } from './records.js';

/** How long after a moment the last kind of service came back to the last client. */
export function measureResume(records: readonly HistoryRecord[], since: number): number {
  const first = new Map<string, number>();
  for (const record of records) {
    const activity = describeActivity(record);
    const at = 'end' in record ? record.end : record.at;
    if (activity !== undefined && at > since && at < (first.get(activity) ?? Infinity)) first.set(activity, at);
  }
  return Math.max(...first.values()) - since;
}

/** What a record shows to work; undefined when it shows nothing. Leading is one service of all clients together. */
function describeActivity(record: HistoryRecord): string | undefined {
  const { kind, process } = record;
  if (kind === 'lease') return record.isGranted ? `${process} lease` : undefined;
  if (kind === 'reset' || kind === 'changes') return `${process} tail`;
  if (kind === 'read') return `${process} ${record.isFromCache ? 'cache' : 'read'}`;
  if (record.outcome !== 'stored') return undefined;
  return record.fence === undefined ? `${process} write` : 'lead';
}

/** The longest time, within a stretch of time, in which no write of any client was acknowledged. */
export function measureWriteGap(records: readonly HistoryRecord[], from: number, until: number): number {
  const ends = records
    .flatMap(record => (record.kind === 'write' && record.outcome === 'stored' ? [record.end] : []))
    .filter(end => end > from && end < until)
    .toSorted((a, b) => a - b);
  const marks = [from, ...ends, until];
  return Math.max(...marks.slice(1).map((mark, before) => mark - marks[before]!));
}
