import type { Filter } from '../filter.js';

/** Wants a node whose agent is heard and that is not being emptied. */
export const ready: Filter = {
  name: 'ready',
  accepts: node => node.status === 'ready',
  words: node => ['ready', node.status],
};
