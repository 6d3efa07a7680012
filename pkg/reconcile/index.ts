/**
 * The reconcile runtime.
 *
 * @module
 */
export type { Loop, LoopEnv, Next, Reconcile, Wake } from './loop.js';
export { again, done } from './loop.js';
