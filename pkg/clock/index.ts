/**
 * Time and chance, as parameters.
 *
 * Everything that waits, stamps or draws lots takes a `Clock` or a `Random` instead of reaching for the
 * machine's own, so that the same code runs in production and, step by step, in a simulated world.
 *
 * `now` is wall time and is for people to read; decisions compare `monotonic` readings only.
 *
 * It leaves scheduling of work to `pkg/reconcile`: this is only the ticking.
 *
 * @module
 */
export type { Cancel, Clock } from './clock.js';
export { sleep, systemClock } from './clock.js';
export { ManualClock } from './manual-clock.js';
export type { Random } from './random.js';
export { seededRandom, systemRandom } from './random.js';
