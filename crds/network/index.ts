/**
 * Networks: each is made on one node, and carries nothing that the node's agent would not understand.
 *
 *     const admission = admitNetwork(document, { nodes });
 *     if (!admission.ok) return admission.rejections;
 *
 * Whether the name is free, and who joins a network, is for the API.
 *
 * @module
 */
export type { NetworkFacts } from './network.js';
export { admitNetwork } from './network.js';
export { networkKind } from './kind.js';
