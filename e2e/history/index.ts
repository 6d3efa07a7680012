/**
 * Judges recorded histories of the store: pure functions over plain data, tested with histories that are wrong on purpose.
 *
 * Clients record their requests and the answers, tails record every frame, and etcd itself is asked what it
 * stored. From that follows whether a promise was broken: acknowledged writes are there, refused ones are not, nothing is
 * there twice, reads and writes have an order, a deposed leader changed nothing, and no tail has a gap, a duplicate or a
 * step back. Running clients and faults is left to `e2e/cluster`.
 *
 * @module
 */
export { checkExactlyOnce } from './exactly-once.js';
export { checkFencing } from './fencing.js';
export { checkLinearizability, type KeyState } from './linearizability.js';
export type * from './records.js';
export { measureResume, measureWriteGap } from './service.js';
export { checkTail } from './tails.js';
