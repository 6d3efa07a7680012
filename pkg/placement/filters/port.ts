import { refusal } from '../../../crds/scheduling/index.js';
import type { Filter } from '../filter.js';

/** Wants the asked host ports free: two containers of one machine cannot both have one. */
export const port: Filter = {
  name: 'port',
  refuse: (node, { hostPorts }) => {
    if (hostPorts.length === 0) return undefined;
    const taken = hostPorts.filter(asked => node.heldPorts.has(asked));
    return taken.length === 0 ? undefined : refusal('port', hostPorts.join(', '), `${taken.join(', ')} taken`);
  },
};
