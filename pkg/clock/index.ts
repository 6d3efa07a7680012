/**
 * Time and randomness, as parameters.
 *
 * Code that waits, reads the time or needs random numbers takes a `Clock` or a `Random`, so that the same code runs in
 * production and, step by step, in the simulation. `now` is wall time and is for people to read; decisions compare
 * `monotonic` readings, and times of records only by the clock that the control plane agrees on (`agreed-clock.ts`).
 * `backoffMs` is the one back-off: callers give the first wait and the cap.
 *
 * Tests use `ManualClock` of `manual-clock.testing.ts`. Scheduling of work is left to `pkg/reconcile`.
 *
 * @module
 */
import { randomFillSync, randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';

/** Undoes a timer that has not fired yet. Calling it later, or twice, does nothing. */
export type Cancel = () => void;

/** The passing of time. */
export interface Clock {
  /** Wall time in milliseconds since 1970. May jump, but for an `AgreedClock`: never compare two others to decide something. */
  now(): number;
  /** Milliseconds since some fixed moment. Never goes back. */
  monotonic(): number;
  /** Calls `fire` once after `ms`. A pending timer does not keep the process alive. */
  after(ms: number, fire: () => void): Cancel;
}

/** The longest that a timer of Node waits; a longer one would fire at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fire) {
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number) => {
      const nextMs = Math.min(leftMs, TIMER_MAX_MS);
      timer = setTimeout(nextMs === leftMs ? fire : () => wait(leftMs - nextMs), nextMs);
      timer.unref();
    };
    wait(ms);
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

/** Resolves when `signal` is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** A source of random numbers. Only `systemRandom` is fit for secrets. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  uuid(): string;
  bytes(count: number): Buffer;
}

const pool = Buffer.alloc(4096);
let drawn = pool.length;

/** Random bytes. The system is asked for many at a time; returned bytes are wiped from the pool. */
function draw(count: number): Buffer {
  const bytes = Buffer.alloc(count);
  if (count > pool.length) return randomFillSync(bytes);
  if (drawn + count > pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  pool.copy(bytes, 0, drawn, drawn + count);
  pool.fill(0, drawn, drawn + count);
  drawn += count;
  return bytes;
}

/** The operating system's randomness. */
export const systemRandom: Random = {
  next: () => draw(4).readUInt32BE() / 2 ** 32,
  uuid: () => randomUUID(),
  bytes: draw,
};

/** The same numbers for the same seed, for simulations. Mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const bytes = (count: number) => {
    const drawn = Buffer.alloc(count);
    for (let at = 0; at < count; at++) drawn[at] = Math.floor(next() * 256);
    return drawn;
  };
  const uuid = () => {
    const b = bytes(16);
    b[6] = (b[6]! & 0x0f) | 0x40;
    b[8] = (b[8]! & 0x3f) | 0x80;
    const hex = b.toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  };
  return { next, bytes, uuid };
}

/** How long to wait after each failure in a row. */
export interface BackoffOptions {
  readonly firstMs: number;
  readonly capMs: number;
}

/**
 * The wait after `failures` failures in a row: doubled each time up to the cap, spread by a quarter either way. Without
 * `random` it is not spread, for a wait that is computed more than once.
 */
export function backoffMs(failures: number, { firstMs, capMs }: BackoffOptions, random?: Random): number {
  const doubled = Math.min(capMs, firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30));
  return random ? Math.min(capMs, doubled * (0.75 + random.next() / 2)) : doubled;
}
