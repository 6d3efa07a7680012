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
export type {
  NodeLoss,
  ObservedDeployment,
  ObservedReplica,
  ReplicaNodeState,
  UnmetDependency,
} from './deployments.js';
export {
  defineIndexes,
  isMovable,
  isServing,
  isWaiting,
  listConsumers,
  listHolders,
  listUnmetDependencies,
  readDeployment,
} from './deployments.js';
export {
  deriveQueueKey,
  formatQueueKey,
  parseQueueKey,
  wakeItself,
  wakeOnNodeChange,
  wakeOnNodeStatusChange,
  wakeReported,
  withDependents,
} from './wakes.js';
