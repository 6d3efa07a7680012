/**
 * What the loops read: one deployment with its replicas and reports, from the watch cache.
 *
 * Every reading carries the guards of what it was read from, so that a decision can only be written while it still
 * holds.
 *
 * `readDeployment` reads; `itself`, `reportedDeployment` and the others say which changes wake which deployment;
 * `defineIndexes` must be called on the cache before it is fed.
 *
 * It decides nothing and writes nothing: that is each loop's own.
 *
 * @module
 */
export { consumersOf, holdersOf } from './credential-users.js';
export type { UnmetDependency } from './dependencies.js';
export { unmetDependencies } from './dependencies.js';
export type { DeploymentReading } from './deployment-reading.js';
export { isMovable, readDeployment } from './deployment-reading.js';
export { defineIndexes, isWaiting } from './indexes.js';
export { namedBy, queueKey, queueKeyOf } from './queue-key.js';
export type { Loss, SeenReplica, Whereabouts } from './seen-replica.js';
export { isServing } from './seen-replica.js';
export { andDependents, deploymentsOnFailingNode, deploymentsOnNode, itself, reportedDeployment } from './wakes.js';
