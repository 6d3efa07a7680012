import { type Clock, type Random, sleep } from '../clock/index.js';
import type { EventWriter } from '../events/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { type Cache, Leadership, type Store } from '../store/index.js';
import { fencedCommit, type Office } from './fenced-commit.js';
import { leaderNote } from './leader-note.js';
import type { Loop, LoopEnv } from './loop.js';
import { type LoopMeter, noMeter } from './meter.js';
import { reconciler } from './reconciler.js';
import { wakeForAll, wakeOnChanges } from './wakes.js';
import { WorkQueue } from './work-queue.js';

/** How long work under way has to end after the process was told to stop. */
const STOP_GRACE_MS = 5_000;
const BARRIER_RETRY_MS = 250;

/** What the loops of one process stand on. */
export interface RuntimeEnv {
  readonly store: Store;
  /** Being fed already, and until `runLoops` has resolved: the last writes are waited for in it. */
  readonly cache: Cache;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly events: EventWriter;
  /** Who this process is, unique among all. */
  readonly holder: string;
  readonly leaderLeaseSeconds: number;
  readonly meter?: LoopMeter;
  /** Told of every failure of a reconcile, before it is tried again. */
  readonly onFailure?: (error: Error) => void;
}

/**
 * Runs every loop that this process can come to lead, until `signal` is aborted.
 *
 * Each loop has a leader of its own, so the loops of one system may be led by different processes. Resolves when all
 * work has ended and every leadership has been handed back.
 */
export async function runLoops(loops: readonly Loop[], env: RuntimeEnv, signal: AbortSignal): Promise<void> {
  await Promise.all(loops.map(loop => runLoop(loop, env, signal)));
}

async function runLoop(loop: Loop, env: RuntimeEnv, signal: AbortSignal): Promise<void> {
  const { store, clock, random, holder, leaderLeaseSeconds: ttlSeconds } = env;
  const log = env.log.with({ loop: loop.name });
  const leadership = new Leadership({ store, clock, random, name: loop.name, holder, ttlSeconds, log });
  await leadership.run(signal, async (fence, lost) => {
    const office: Office = { store, cache: env.cache, fence, lost };
    if (!(await caughtUp(office, clock, log))) return;
    const meter = env.meter ?? noMeter;
    meter.leading(loop.name, true);
    try {
      const lease = async (ttlSeconds: number) => (await store.grant(ttlSeconds)).id;
      await lead(loop, { ...env, log, commit: fencedCommit(office), lease }, office, {
        meter,
        onFailure: env.onFailure,
        graceful: signal,
      });
    } finally {
      meter.leading(loop.name, false);
    }
  });
}

/** Waits until the cache shows all that the previous leader wrote. False when leadership was lost over it. */
async function caughtUp({ cache, lost }: Office, clock: Clock, log: Logger): Promise<boolean> {
  while (!lost.aborted) {
    try {
      await cache.barrier();
      return !lost.aborted;
    } catch (thrown) {
      log.warn('a new leader waits for its cache', { error: asError(thrown) });
      await sleep(clock, BARRIER_RETRY_MS, lost);
    }
  }
  return false;
}

interface TermOptions {
  readonly meter: LoopMeter;
  readonly onFailure: RuntimeEnv['onFailure'];
  /** Aborted when the process is to stop, as opposed to leadership being in doubt. */
  readonly graceful: AbortSignal;
}

async function lead(
  loop: Loop,
  env: LoopEnv,
  office: Office,
  { meter, onFailure, graceful }: TermOptions,
): Promise<void> {
  const note = leaderNote(loop.name, office, env.clock, env.log);
  const reconcile = reconciler(loop, env, { meter, onFailure });
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
  const unsubscribe = wakeOnChanges(loop.wakes, env.cache, key => queue.add(key));
  wakeForAll(loop.wakes, env.cache, key => queue.add(key));

  await aborted(office.lost);
  unsubscribe();
  await queue.stop(graceful.aborted ? STOP_GRACE_MS : 0);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }));
}
