/**
 * The rollout of a deployment, as far as it is: `rollouts/<tenant>/<deployment>`, written by the replica keeper.
 *
 * It holds what cannot be derived from the replicas: the last revision that was complete, the last rollout that failed, how
 * far the present one has come, and its canary. What people order of a canary is a record of its own, written by the API:
 * `canary-orders/<tenant>/<deployment>`.
 *
 * @module
 */
export type {
  CanaryBeside,
  CanaryHealth,
  CanaryOrder,
  CanaryRecord,
  CompletedRollout,
  ReplicaForm,
  RolloutProgress,
  RolloutRecord,
} from './record.js';
export { computeContentHash, findHeldCanary, isOfPresent, toCanaryState, toReplicaForm } from './canary.js';
