import { isGuardMet, findOnceGuard, findProof } from '../change.js';
import type { Entry, Revision } from '../entry.js';
import type { Change, WatchEvent } from '../store.js';

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
 *
 * What is found is the very change: all its guards held before that revision, and everything that it writes was written at it.
 * Two changes that are the same in every guard and every byte look alike, and only one of them can be made: both
 * may be answered as made, even when the other one was made a moment before ours was sent. A writer that must know whether it
 * was he puts something of his own (`Change.proof`).
 */
export async function settleOutcome(
  change: Change,
  window: SettlementWindow,
  reads: SettlementReads,
): Promise<Revision | undefined> {
  if (window.until === window.after) return undefined; // nothing at all was made
  const proof = findProof(change);
  if (proof) {
    const { revision = 0, bytes } = (await reads.entry(proof.key)) ?? {};
    const isProven = inside(revision, window) && bytes?.equals(proof.bytes);
    if (isProven && (await wasMadeAt(revision, change, reads))) return revision;
  }
  const guard = findOnceGuard(change)!;
  const untouched = !('at' in guard && guard.at === 0) && isGuardMet(guard, await reads.entry(guard.key));
  if (untouched) return undefined; // had the change been made, this guard would no longer hold

  // It may have been made and then overwritten or deleted by another writer: only the history shows it.
  const key = proof?.key ?? guard.key;
  for (const event of await reads.history(window.after, window.until)) {
    const isLike = event.key === key && (proof ? event.entry?.bytes.equals(proof.bytes) : !event.entry);
    if (isLike && (await wasMadeAt(event.revision, change, reads))) return event.revision;
  }
  return undefined;
}

/** Whether this change, or one that is the same in every guard and every byte, was made at a revision. */
async function wasMadeAt(revision: Revision, change: Change, { entry }: SettlementReads): Promise<boolean> {
  const { guards, puts, deletes } = change;
  const before = await Promise.all(guards.map(({ key }) => entry(key, revision - 1)));
  if (!guards.every((guard, n) => isGuardMet(guard, before[n]))) return false;
  const put = await Promise.all(puts.map(({ key }) => entry(key, revision)));
  const isPut = puts.every(({ bytes }, n) => put[n]?.revision === revision && put[n].bytes.equals(bytes));
  const left = isPut ? await Promise.all(deletes.map(key => entry(key, revision))) : [];
  return isPut && left.every(found => found === undefined);
}

function inside(revision: Revision, { after, until }: SettlementWindow): boolean {
  return revision > after && revision <= until;
}
