import { performance } from 'node:perf_hooks';

/** Undoes a timer that has not fired yet. Calling it later, or twice, does nothing. */
export type Cancel = () => void;

/** The passing of time. */
export interface Clock {
  /** Wall time in milliseconds since 1970. May jump; never compare two of them to decide something. */
  now(): number;
  /** Milliseconds since some fixed moment. Never goes back. */
  monotonic(): number;
  /** Calls `fire` once after `ms`. A pending timer does not keep the process alive. */
  after(ms: number, fire: () => void): Cancel;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fire) {
    const timer = setTimeout(fire, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or at once when `signal` is aborted: the caller looks at the signal, not at an exception. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise(resolve => {
    const finish = () => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal?.addEventListener('abort', finish, { once: true });
  });
}
