import { keys } from '../../crds/keys/index.js';
import { type Clock, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { encode, value } from './documents.js';
import type { Revision } from './entry.js';
import type { Store, StoreHealth } from './store.js';

/** What stands under the key of compaction. */
export interface CompactionMark {
  /** The revision of the store when the mark was written: it is compacted to this next. */
  readonly revision: Revision;
  /** What it was compacted to when the mark was written: older history is gone. */
  readonly compacted: Revision;
}

export interface Compactable {
  /** Forgets history before a revision, and ends when the file is written. */
  compact(revision: Revision): Promise<void>;
  health(): Promise<StoreHealth>;
}

export interface CompactionOptions {
  readonly store: Store & Compactable;
  readonly clock: Clock;
  readonly log: Logger;
  /** 0 or less: unknown. */
  readonly quotaBytes: number;
  /** History is kept for at least this long, and at most for twice as long; 0: for ever. */
  readonly everyMs: number;
}

/**
 * Lets the store forget old history, until `signal` is aborted. Any number of processes may run it: of those that see the
 * same mark, the one that replaces it compacts to what the mark says, as the API servers of Kubernetes do. etcd itself
 * never compacts unless it is configured to, and then grows until its quota is reached.
 */
export async function compactPeriodically(options: CompactionOptions, signal: AbortSignal): Promise<void> {
  const { store, clock, log, everyMs } = options;
  const key = keys.compaction();
  let seen: Revision | undefined;
  while (everyMs > 0) {
    try {
      const mark = await store.get(key);
      const isDue = seen !== undefined && seen === (mark?.revision ?? 0);
      if (isDue) await replaceMark(options, mark);
      seen = (isDue ? await store.get(key) : mark)?.revision ?? 0;
    } catch (thrown) {
      log.warn('the store could not be compacted; it is tried again', { error: asError(thrown) });
    }
    await sleep(clock, everyMs, signal);
    if (signal.aborted) return;
  }
}

/**
 * Into how many steps history is divided, and how many revisions a step has at least and at most. etcd writes its file after each
 * thousand keys that it has looked at: a larger step would not write more at once.
 */
const STEPS = { count: 64, least: 8, most: 1_024 };

/**
 * Lets a store forget what is between two revisions so that its file hardly grows. Where a large document is forgotten, up to three
 * others are rewritten, and the room of all of them is free only after that write (ADR 75): near the quota little is forgotten
 * at a time, which goes into the room that the step before has freed.
 */
async function compactInSteps(store: Compactable, from: Revision, to: Revision, quotaBytes: number): Promise<void> {
  const largest = Math.min(STEPS.most, Math.max(STEPS.least, Math.ceil((to - from) / STEPS.count)));
  let step = largest;
  let { databaseBytes, usedBytes } = await store.health();
  for (let at = from; at < to; ) {
    const fitsAtOnce = quotaBytes <= 0 || databaseBytes + usedBytes < quotaBytes; // at worst all that is kept is rewritten
    at = fitsAtOnce ? to : Math.min(to, at + step);
    await store.compact(at);
    const before = databaseBytes;
    ({ databaseBytes, usedBytes } = await store.health());
    step = databaseBytes > before ? Math.ceil(step / 4) : Math.min(largest, step * 2);
  }
}

/**
 * Lets the store forget all history, for which there is no room, and gives the revision of the present. `from` is what this gave
 * before: history before it is gone.
 */
export async function compactToPresent(
  store: Store & Compactable,
  from: Revision,
  quotaBytes: number,
): Promise<Revision> {
  const mark = await store.get(keys.compaction());
  const compacted = Math.max(from, mark ? value<CompactionMark>(mark).compacted : 0);
  const present = await store.revision();
  await compactInSteps(store, compacted, present, quotaBytes);
  return present;
}

async function replaceMark(
  { store, log, quotaBytes }: CompactionOptions,
  mark: Awaited<ReturnType<Store['get']>>,
): Promise<void> {
  const key = keys.compaction();
  const seen = mark && value<CompactionMark>(mark);
  const revision = seen?.revision;
  const compact = () => seen && compactInSteps(store, seen.compacted, seen.revision, quotaBytes);
  const next: CompactionMark = { revision: await store.revision(), compacted: revision ?? 0 };
  try {
    const change = { guards: [{ key, at: mark?.revision ?? 0 }], puts: [{ key, bytes: encode(next) }], deletes: [] };
    const verdict = await store.commit(change);
    if (!verdict.stored || revision === undefined) return; // another process was first, or there is no history yet
  } catch (thrown) {
    await compact(); // a full store takes no mark, and needs this most
    throw thrown;
  }
  await compact();
  log.info('the history of the store was compacted', { revision });
}
