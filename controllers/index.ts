/**
 * The loops, and how to run them.
 *
 * Each loop is a folder: what it wakes on, reads, writes and never does is in its README; its decision is a pure function
 * in `decide.ts`. Loops never call each other: they meet in the store.
 *
 * `controllersIn` runs them in any process: `main.ts` is the one that does nothing else.
 *
 * It leaves the queue, leadership and retries to `pkg/reconcile`, and placement to `pkg/placement`.
 *
 * @module
 */
export type { Controllers, ControllersEnv } from './controllers-in.js';
export { controllersIn } from './controllers-in.js';
export { allLoops, secretLoops } from './list.js';
