import type { Filter } from '../filter.js';

/** Keeps a deployment that names a node on that node. */
export const namedNode: Filter = (node, workload) => {
  const required = workload.namedNode;
  if (required === undefined || required === node.id) return undefined;
  return { filter: 'named_node', required, reported: node.id, message: `the deployment names the node ${required}` };
};
