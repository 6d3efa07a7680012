import { type Clock, sleep } from '../clock/index.js';
import { Fault } from '../fault/index.js';
import type { Logger } from '../log/index.js';

const RETRY_MS = 1_000;

/**
 * Does what a process must do before it serves, again and again while that fails only because the store cannot be
 * reached. Undefined when `signal` was aborted first.
 */
export async function untilReachable<Result>(
  work: () => Promise<Result>,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  signal: AbortSignal,
): Promise<Result | undefined> {
  while (!signal.aborted) {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof Fault) || !thrown.retriable) throw thrown;
      log.warn('the store cannot be reached yet', { error: thrown });
      await sleep(clock, RETRY_MS, signal);
    }
  }
  return undefined;
}
