import { refusal } from '../../../crds/scheduling/index.js';
import type { Filter } from '../filter.js';

/** Keeps a deployment that names a node on that node. */
export const namedNode: Filter = {
  name: 'named_node',
  refuse: (node, { namedNode: required }) =>
    required === undefined || required === node.id ? undefined : refusal('named_node', required, node.id),
};
