/**
 * Networks: each is made on one node, and carries nothing that the node's agent would not understand.
 *
 *     const admission = admitNetwork(document, { nodes });
 *     if (!admission.ok) return admission.rejections;
 *     link.send(toAssignedNetwork(stored));
 *
 * Whether the name is free, and who joins a network, is for the API.
 *
 * @module
 */
export type {
  AssignedNetwork,
  Network,
  NetworkFacts,
  NetworkReport,
  NetworkStatus,
  SeenNetwork,
  StoredNetwork,
} from './network.js';
export { admitNetwork, NETWORK_UID_LABEL, toAssignedNetwork } from './network.js';
export { checkNetworkReports } from './reports.js';
export { networkKind } from './kind.js';
