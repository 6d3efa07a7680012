/**
 * A node: one machine that one tenant has enrolled.
 *
 * Three keys with three writers: `nodes/<tenant>/<name>` (the API: who it is and what it advertises),
 * `node-status/<tenant>/<name>` (the node monitor: whether it is well) and `alive/<tenant>/<name>` (on the
 * node's lease: present while its agent sends heartbeats). `node-names/<name>` says whose the name is.
 *
 * What an agent says of its machine is checked here. At enrolment a person is watching, so what may not stand is
 * refused; in a heartbeat it is left out and announced, because a refused heartbeat would take a whole node away.
 *
 *     const checked = checkEnrolment(document);
 *     if (!checked.ok) return checked.rejections;
 *
 * Proofs, claims and tokens are left to the API.
 *
 * @module
 */
export type { Enrolment } from './requests.js';
export {
  checkClaimRelease,
  checkEnrolment,
  checkDoublesRequest,
  checkGoneDeploymentsRequest,
  checkGoneNodesRequest,
  checkHeartbeat,
  checkJoinTokenRequest,
  checkRenewal,
  REMOVED_MAX,
  SET_BACK_MAX,
  USAGE_MAX,
} from './requests.js';
export type {
  AdvertisedCondition,
  AdvertisedEngine,
  AdvertisedRemovals,
  AdvertisedSetBack,
  Capacity,
  NodeClaim,
  NodeCondition,
  NodeNameRecord,
  NodeOrder,
  NodeOrders,
  NodePresence,
  NodeStatus,
  NodeUsage,
  ReplicaUsage,
  StoredNode,
} from './node.js';
export { describeFeatures, type NodeFeature } from './features.js';
export { CONTAINERS_SEEN_WITHIN_MS, lossKinds, isEngineDown, listNodeConditions } from './node.js';
export { nodeKind } from './kind.js';
export type { NodeView } from './view.js';
