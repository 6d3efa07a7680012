import { asError, Fault } from '../fault/index.js';
import { OutrunFault } from './faults.js';
import { done, type Loop, type LoopEnv, type Next } from './loop.js';
import type { Ending, LoopMeter } from './meter.js';
import type { Work } from './work-queue.js';

/** Who is told how reconciles go. */
export interface Watchers {
  readonly meter: LoopMeter;
  readonly onFailure: ((error: Error) => void) | undefined;
}

/**
 * Wraps a loop's reconcile for the queue: names each run in the log, measures it, and decides what a failure means.
 *
 * A fault that trying again cannot heal is logged once and left until its object changes. After any other failure the
 * next run of that key waits until the cache shows everything stored by then: a write whose reply was lost may have
 * been made, and must be seen.
 */
export function reconciler(loop: Loop, env: LoopEnv, { meter, onFailure }: Watchers): Work {
  const inDoubt = new Set<string>();

  return async (key, signal) => {
    const started = env.clock.monotonic();
    const log = env.log.with({ key, reconcileId: env.random.bytes(6).toString('hex') });
    const ended = (ending: Ending): number => {
      const ms = env.clock.monotonic() - started;
      meter.reconciled(loop.name, ending, ms);
      return ms;
    };

    let next: Next;
    try {
      if (inDoubt.has(key)) await env.cache.barrier();
      next = await loop.reconcile(key, { ...env, log }, signal);
    } catch (thrown) {
      const error = asError(thrown);
      onFailure?.(error);
      if (error instanceof Fault && !error.retriable) {
        log.error('a reconcile failed for good', { ms: ended('refused'), error });
        return done;
      }
      inDoubt.add(key);
      log[error instanceof OutrunFault ? 'debug' : 'warn']('a reconcile will be tried again', {
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
