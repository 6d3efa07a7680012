/**
 * The reconcile runtime: everything a loop would otherwise have to write for itself.
 *
 * One idea to hold: the queue carries names, never events. A loop that is woken reads the world, decides, and writes
 * what differs; it may be woken at any time, for any reason, twice in a row and after any crash.
 *
 * ## Use
 *
 * A `Loop` is a value: a name, which changes wake which keys, and a `reconcile` that returns `done` or
 * `again(afterMs, because)`, or throws. `runLoops` gives each loop a leader among all processes, a full pass whenever
 * a leader begins, a queue with one worker a key and a backoff for each, and an orderly end. `env.commit` is fenced by
 * the leader key and resolves only when the cache shows the change. What a loop waits for it measures with `ObservedTimes`:
 * a time in a record comes from the clock of another process.
 *
 * ## What this package leaves to others
 *
 * It knows no kinds. Keys of the queue are whatever the loop's wakes say; metrics are whatever `LoopMeter` does.
 *
 * @module
 */
export type { Loop, LoopEnv, LoopMeter, Reconcile, ReconcileResult, Wake } from './loop.js';
export { again, done } from './loop.js';
export { type Ages, ObservedTimes } from './observed-times.js';
export type { RuntimeEnv } from './run-loops.js';
export { runLoops } from './run-loops.js';
export { WorkQueue } from './work-queue.js';
