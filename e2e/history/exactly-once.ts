import type { HistoryRecord, KeyChange, Violation, WriteRecord } from './records.js';
import { StoredState } from './stored-state.js';

/**
 * Compares what clients were told with what etcd stored: an acknowledged change is there at its revision, with all its
 * keys; a change whose outcome is unknown at most once, and with all its keys or none; a refused one not at all. Each
 * change is known by the revision it was guarded at, because on one key only one change can follow a revision: so this
 * holds for identical bytes too. Keys that no client wrote are left aside.
 *
 * Changes that put nothing of their own (deletes, bytes that others write too) cannot be told apart once an answer is lost:
 * several clients may be told that theirs was made at the same revision. Of those that are proven only one may be.
 */
export function checkExactlyOnce(history: readonly HistoryRecord[], storedEvents: readonly KeyChange[]): Violation[] {
  const stored = new StoredState(storedEvents);
  const claims = new Map<KeyChange, WriteRecord>();
  const violations: Violation[] = [];
  const report = (promise: Violation['promise'], because: string) => violations.push({ promise, because });
  const writes = history.filter(record => record.kind === 'write');

  for (const record of writes.filter(({ outcome }) => outcome === 'stored')) {
    for (const { key, guardedAt, bytes } of record.writes) {
      const event = stored.at(record.revision!).find(found => found.key === key);
      if (!event || event.bytes !== bytes) {
        report('nothing lost', `${describe(record)} on ${key} is not in the store at revision ${record.revision}`);
        continue;
      }
      if (stored.revisionBefore(key, event.revision) !== guardedAt)
        report('nothing refused', `${describe(record)} on ${key} was stored though its guard did not hold`);
      if (record.isProven && claims.get(event)?.isProven)
        report('nothing lost', `${describe(record)} and another one claim the same change of ${key}`);
      if (!claims.get(event)?.isProven) claims.set(event, record);
    }
  }

  const written = new Set(writes.flatMap(record => record.writes.map(({ key }) => key)));
  const unknown = new Map<string, WriteRecord[]>();
  for (const record of writes.filter(({ outcome }) => outcome === 'unknown')) {
    for (const { key, guardedAt, bytes } of record.writes) {
      const same = `${key} ${guardedAt} ${bytes}`;
      unknown.set(same, [...(unknown.get(same) ?? []), record]);
    }
  }
  for (const key of written) {
    let before = 0;
    for (const event of stored.changesOf(key)) {
      const candidates = unknown.get(`${key} ${before} ${event.bytes}`) ?? [];
      before = event.bytes === undefined ? 0 : event.revision;
      if (claims.has(event)) continue;
      const owner = candidates.find(record => isWhole(record, event.revision, stored));
      if (owner) claims.set(event, owner);
      else report(...explain(event, writes));
    }
  }
  return violations;
}

/** Whether all keys of a change were changed at one revision, as the change says. */
function isWhole({ writes }: WriteRecord, revision: number, stored: StoredState): boolean {
  return writes.every(({ key, bytes }) =>
    stored.at(revision).some(event => event.key === key && event.bytes === bytes),
  );
}

/** What is wrong with a change that none of the clients can have made. */
function explain({ key, bytes, revision }: KeyChange, writes: readonly WriteRecord[]): [Violation['promise'], string] {
  const same = writes.filter(record => record.writes.some(write => write.key === key && write.bytes === bytes));
  const acknowledged = same.find(({ outcome }) => outcome === 'stored' || outcome === 'unknown');
  if (acknowledged)
    return ['nothing doubled', `${describe(acknowledged)} on ${key} is in the store again at revision ${revision}`];
  const refused = same[0];
  const who = refused ? describe(refused) : 'a change that no client made';
  return ['nothing refused', `${who} on ${key} is in the store at revision ${revision}`];
}

function describe({ process, outcome, begin }: WriteRecord): string {
  return `a change of ${process} at ${begin.toFixed(0)} ms that was told as ${outcome}`;
}
