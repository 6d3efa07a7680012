import type { Filter } from '../filter.js';

/** Wants the asked host ports free: two containers of one machine cannot both have one. */
export const port: Filter = {
  name: 'port',
  accepts: (node, { hostPorts }) => hostPorts.every(asked => !node.heldPorts.has(asked)),
  words: (node, { hostPorts }) => {
    const taken = hostPorts.filter(asked => node.heldPorts.has(asked));
    return [hostPorts.join(', '), `${taken.join(', ')} taken`];
  },
};
