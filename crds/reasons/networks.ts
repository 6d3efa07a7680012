import type { ReasonEntry } from './events.js';

/** Of networks, and of the filter that keeps what joins them on their node. */
export const networkReasons = {
  network_created: { meaning: 'The network was stored. The agent of its node creates it on the engine.' },
  network_deleted: { meaning: 'The network was deleted. The agent of its node removes it from the engine.' },
  network_ready: { meaning: 'The network exists on the engine of its node.' },
  network_pending: {
    meaning: 'The agent of the node has not said yet that the network exists.',
    remedy: 'Wait a moment; if it lasts, look at the agent of the node and its log.',
  },
  network_refused: {
    meaning: 'The engine of the node refuses to create the network. The agent tries again.',
    remedy: 'The message has the words of the engine; correct what they name on the machine.',
  },
  network_node_silent: {
    meaning:
      'The node of the network sends no heartbeats, or its container engine does not answer: whether the network exists is unknown.',
    remedy:
      'Check the machine, its agent and its engine: "moor get nodes". The network is repaired when they are back.',
  },
  network_node_gone: {
    meaning: 'The node of the network is no longer enrolled, so nothing can join the network.',
    remedy:
      'Remove the network from what joins it, or delete that; then delete the network, create it on another node and join it again.',
  },
  network: {
    meaning: 'Filter: the workload joins a network that is on another node, or that does not exist.',
    remedy: 'Make the node of the network ready, or change networks; "moor get networks" shows the node of each.',
  },
} as const satisfies Readonly<Record<string, ReasonEntry>>;
