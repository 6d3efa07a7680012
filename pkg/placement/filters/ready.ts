import { refusal } from '../../../crds/scheduling/index.js';
import type { Filter } from '../filter.js';

/** Wants a node whose agent is heard and that is not being emptied. */
export const ready: Filter = {
  name: 'ready',
  refuse: node => (node.status === 'ready' ? undefined : refusal('ready', 'ready', node.status)),
};
