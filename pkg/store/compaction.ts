import { keys } from '../../crds/keys/index.js';
import { type Clock, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { encode, value } from './documents.js';
import type { Revision } from './entry.js';
import type { Store } from './store.js';

/** What stands under the key of compaction. */
export interface CompactionMark {
  /** The revision of the store when the mark was written: it is compacted to this next. */
  readonly revision: Revision;
  /** What it was compacted to when the mark was written: older history is gone. */
  readonly compacted: Revision;
}

export interface CompactionOptions {
  readonly store: Store & { compact(revision: Revision): Promise<void> };
  readonly clock: Clock;
  readonly log: Logger;
  /** History is kept for at least this long, and at most for twice as long; 0: for ever. */
  readonly everyMs: number;
}

/**
 * Lets the store forget old history, until `signal` is aborted. Any number of processes may run it: of those that see the
 * same mark, the one that replaces it compacts to what the mark says, as the API servers of Kubernetes do. etcd itself
 * never compacts unless it is told to, and then grows until its quota is reached.
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

async function replaceMark({ store, log }: CompactionOptions, mark: Awaited<ReturnType<Store['get']>>): Promise<void> {
  const key = keys.compaction();
  const revision = mark && value<CompactionMark>(mark).revision;
  const next: CompactionMark = { revision: await store.revision(), compacted: revision ?? 0 };
  try {
    const change = { guards: [{ key, at: mark?.revision ?? 0 }], puts: [{ key, bytes: encode(next) }], deletes: [] };
    const verdict = await store.commit(change);
    if (!verdict.stored || revision === undefined) return; // another process was first, or there is no history yet
  } catch (thrown) {
    if (revision !== undefined) await store.compact(revision); // a full store takes no mark, and needs this most
    throw thrown;
  }
  await store.compact(revision);
  log.info('the history of the store was compacted', { revision });
}
