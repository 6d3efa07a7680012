import { isGuardMet, findOnceGuard, findProof } from '../change.js';
import type { Change, Entry, WatchEvent, Revision } from '../store.js';

/** What settling an outcome reads. Keys are as in the change. */
export interface SettlementReads {
  /** What stands under a key, now or at a revision. */
  readonly entry: (key: string, at?: Revision) => Promise<Entry | undefined>;
  /** All that happened after `after`, up to and with `until`. */
  readonly history: (after: Revision, until: Revision) => Promise<readonly WatchEvent[]>;
}

/** The revisions within which the change was made, if it was: after `after`, up to and with `until`. */
export interface SettlementWindow {
  readonly after: Revision;
  readonly until: Revision;
}

/**
 * At which revision a change was made; undefined when it was not. It must be certain that it cannot be made after
 * the window.
 */
export async function settleOutcome(
  change: Change,
  window: SettlementWindow,
  reads: SettlementReads,
): Promise<Revision | undefined> {
  const proof = findProof(change);
  if (proof) {
    const entry = await reads.entry(proof.key);
    if (entry && inside(entry.revision, window) && entry.bytes.equals(proof.bytes)) return entry.revision;
  }
  const guard = findOnceGuard(change)!;
  const untouched = !('at' in guard && guard.at === 0) && isGuardMet(guard, await reads.entry(guard.key));
  if (untouched) return undefined; // had the change been made, this guard would no longer hold

  // It may have been made and then overwritten or deleted by another writer: only the history can tell.
  const history = await reads.history(window.after, window.until);
  if (!proof) return deletedAt(change, history, await reads.entry(guard.key, window.after), reads);
  return history.find(({ key, entry }) => key === proof.key && entry?.bytes.equals(proof.bytes))?.revision;
}

/** When the guarded key was deleted while its guard held, together with all other keys that the change deletes. */
async function deletedAt(
  change: Change,
  history: readonly WatchEvent[],
  atFirst: Entry | undefined,
  reads: SettlementReads,
): Promise<Revision | undefined> {
  const guard = findOnceGuard(change)!;
  let before = atFirst;
  for (const { key, entry, revision } of history) {
    if (key !== guard.key) continue;
    if (!entry && isGuardMet(guard, before)) {
      const left = await Promise.all(change.deletes.map(deleted => reads.entry(deleted, revision)));
      return left.every(found => found === undefined) ? revision : undefined;
    }
    before = entry;
  }
  return undefined;
}

function inside(revision: Revision, { after, until }: SettlementWindow): boolean {
  return revision > after && revision <= until;
}
