import type { Filter } from '../filter.js';

/** Wants a node whose agent is heard and that is not being emptied. */
export const ready: Filter = node => {
  if (node.status === 'ready') return undefined;
  return { filter: 'ready', required: 'ready', reported: node.status, message: `the node is ${node.status}` };
};
