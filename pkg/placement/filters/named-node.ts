import type { Filter } from '../filter.js';

/** Keeps a deployment that names a node on that node. */
export const namedNode: Filter = {
  name: 'named_node',
  accepts: (node, workload) => workload.namedNode === undefined || workload.namedNode === node.id,
  words: (node, workload) => [workload.namedNode ?? '', node.id],
};
