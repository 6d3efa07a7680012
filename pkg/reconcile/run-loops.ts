import { type Clock, type Random, sleep, untilAborted } from '../clock/index.js';
import type { EventWriter } from '../events/index.js';
import { asError, Fault } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { type Cache, Leadership, type Store } from '../store/index.js';
import { createFencedCommit, createLeaderNote, type LeaderContext } from './leader.js';
import {
  again,
  type Loop,
  type LoopEnv,
  type LoopMeter,
  noMeter,
  PreconditionFault,
  type ReconcileOutcome,
  type ReconcileResult,
  type Wake,
} from './loop.js';
import { type Work, WorkQueue } from './work-queue.js';

/** How long work under way has to end after the process was asked to stop. */
const STOP_GRACE_MS = 5_000;
const BARRIER_RETRY_MS = 250;
/** How long until a reconcile is repeated that failed in a way a retry does not fix. */
const REFUSED_AGAIN_MS = 1_800_000;

/** What the loops of one process need. */
export interface RuntimeEnv {
  readonly store: Store;
  /** Must be fed until `runLoops` has resolved: commits wait until they are visible in it. */
  readonly cache: Cache;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly events: EventWriter;
  /** The identity of this process, unique among all processes. */
  readonly holder: string;
  readonly leaderLeaseSeconds: number;
  readonly meter?: LoopMeter;
  /** Called for every failed reconcile, before the retry. */
  readonly onFailure?: (error: Error) => void;
}

/**
 * Runs every loop of this process while it leads them, until `signal` is aborted.
 *
 * Each loop has a leader of its own, so the loops of one system may be led by different processes. Resolves when all
 * work has ended and every leadership has been handed back.
 */
export async function runLoops(loops: readonly Loop[], env: RuntimeEnv, signal: AbortSignal): Promise<void> {
  await Promise.all(loops.map(loop => runLoop(loop, env, signal)));
}

async function runLoop(loop: Loop, env: RuntimeEnv, signal: AbortSignal): Promise<void> {
  const { store, cache, clock, random, holder, leaderLeaseSeconds: ttlSeconds } = env;
  const log = env.log.with({ loop: loop.name });
  const leadership = new Leadership({ store, cache, clock, random, name: loop.name, holder, ttlSeconds, log });
  await leadership.run(signal, async (fence, lost) => {
    const leader: LeaderContext = { store, cache, fence, lost };
    if (!(await waitForCache(leader, clock, log))) return;
    const meter = env.meter ?? noMeter;
    meter.leading(loop.name, true);
    try {
      const lease = async (ttlSeconds: number) => (await store.grant(ttlSeconds)).id;
      await lead(loop, { ...env, log, reads: store, commit: createFencedCommit(leader), fence, lease }, leader, {
        meter,
        onFailure: env.onFailure,
        graceful: signal,
      });
    } finally {
      meter.leading(loop.name, false);
    }
  });
}

/** Waits until the cache shows all that the previous leader wrote. False when leadership was lost meanwhile. */
async function waitForCache({ cache, lost }: LeaderContext, clock: Clock, log: Logger): Promise<boolean> {
  while (!lost.aborted) {
    try {
      await cache.barrier();
      return !lost.aborted;
    } catch (thrown) {
      log.warn('new leader waits until its cache is up to date', { error: asError(thrown) });
      await sleep(clock, BARRIER_RETRY_MS, lost);
    }
  }
  return false;
}

interface TermOptions extends ReconcileObservers {
  /** Aborted when the process is to stop, as opposed to leadership being in doubt. */
  readonly graceful: AbortSignal;
}

async function lead(
  loop: Loop,
  env: LoopEnv,
  leader: LeaderContext,
  { meter, onFailure, graceful }: TermOptions,
): Promise<void> {
  const note = createLeaderNote(loop.name, leader, env.clock, env.log);
  const reconcile = createReconciler(loop, env, { meter, onFailure });
  const queue = new WorkQueue(
    async (key, signal) => {
      const next = await reconcile(key, signal);
      note();
      return next;
    },
    {
      clock: env.clock,
      random: env.random,
      concurrency: loop.concurrency ?? 4,
      onDepth: keys => meter.depth(loop.name, keys),
      onStart: (_key, ms) => meter.waited(loop.name, ms),
    },
  );
  const wakes = loop.wakes.map(wake => survive(wake, env.log));
  const unsubscribe = wakeOnChanges(wakes, env.cache, key => queue.add(key));
  wakeForAll(wakes, env.cache, key => queue.add(key));

  await untilAborted(leader.lost);
  unsubscribe();
  await queue.stop(graceful.aborted ? STOP_GRACE_MS : 0);
}

/** The same wake, which wakes nothing for a change that it cannot read: what was put into the store by hand must not stop a loop. */
function survive({ prefix, keys }: Wake, log: Logger): Wake {
  return {
    prefix,
    keys: (change, cache) => {
      try {
        return keys(change, cache);
      } catch (thrown) {
        const fields = { changed: change.key, error: asError(thrown) };
        log.error('a change wakes nothing: correct or remove the key or the record that cannot be read', fields);
        return [];
      }
    },
  };
}

/** Calls `add` for each key that a change wakes, until the returned function is called. */
export function wakeOnChanges(wakes: readonly Wake[], cache: Cache, add: (key: string) => void): () => void {
  return cache.subscribe(change => {
    for (const wake of wakes) {
      if (change.key.startsWith(wake.prefix)) wake.keys(change, cache).forEach(add);
    }
  });
}

/**
 * Calls `add` for each key that any stored object would wake if it had just been created.
 *
 * A new leader begins with this, because it cannot know what its predecessor left undone.
 */
export function wakeForAll(wakes: readonly Wake[], cache: Cache, add: (key: string) => void): void {
  for (const wake of wakes) {
    for (const entry of cache.list(wake.prefix)) {
      const { key, revision } = entry;
      wake.keys({ key, revision, position: 0, entry, previous: undefined }, cache).forEach(add);
    }
  }
}

/** Observers of the reconciles of a loop. */
export interface ReconcileObservers {
  readonly meter: LoopMeter;
  readonly onFailure: ((error: Error) => void) | undefined;
}

/**
 * Wraps a loop's reconcile for the queue: names each run in the log, measures it, and decides what a failure means.
 *
 * A fault that a retry cannot fix is logged, and the key waits until its object changes, or for long: what has refused it may
 * be another release of etcd by then. After any other failure the
 * next run of that key waits until the cache shows everything stored by then: a write whose reply was lost may have been
 * applied.
 */
export function createReconciler(loop: Loop, env: LoopEnv, { meter, onFailure }: ReconcileObservers): Work {
  const inDoubt = new Set<string>();

  return async (key, signal) => {
    const started = env.clock.monotonic();
    const log = env.log.with({ key, reconcileId: env.random.bytes(6).toString('hex') });
    const ended = (ending: ReconcileOutcome): number => {
      const ms = env.clock.monotonic() - started;
      meter.reconciled(loop.name, ending, ms);
      return ms;
    };

    let next: ReconcileResult;
    try {
      if (inDoubt.has(key)) await env.cache.barrier();
      next = await loop.reconcile(key, { ...env, log }, signal);
    } catch (thrown) {
      const error = asError(thrown);
      onFailure?.(error);
      if (error instanceof Fault && !error.retriable) {
        log.error('a reconcile failed and is repeated only when its object changes, or in half an hour', {
          ms: ended('refused'),
          error,
        });
        return again(REFUSED_AGAIN_MS, 'it failed in a way that a retry does not fix');
      }
      inDoubt.add(key);
      log[error instanceof PreconditionFault ? 'debug' : 'warn']('a reconcile failed and will be retried', {
        ms: ended('retry'),
        error,
      });
      throw error;
    }
    inDoubt.delete(key);
    const ms = ended(next.kind);
    log.debug('reconciled', next.kind === 'again' ? { ms, because: next.because } : { ms });
    return next;
  };
}
