/**
 * Failpoints: named steps at which a process can be made to die, so that a test can look at what it leaves behind.
 *
 * They are in the product as it is shipped and do nothing, until `MOORING_FAILPOINTS` arms some of them for a process:
 *
 *     MOORING_FAILPOINTS=rotation.raised=kill,agent.created=kill@2 moor controllers
 *
 * `kill` is SIGKILL, with nothing flushed and nothing closed; `error` throws. Whoever adds a step that changes something
 * outside of the process adds a row to `points`, calls `failpoint` there, and kills it there in a test.
 *
 * It leaves to the tests what must be true afterwards.
 *
 * @module
 */
export { arm, failpoint, FailpointFault, FailpointSyntaxFault } from './failpoint.js';
export type { FailpointName } from './points.js';
export { points } from './points.js';
