import type { ReasonEntry } from './events.js';

const SEE_NODE = '"moor describe node <node>" shows when its agent sent its last heartbeat.';

/** What to do about an engine that does not answer. */
export const ENGINE_REMEDY = 'look at the engine of that machine and at its log, and start it again';

/** That an engine does not answer, with what to do: said the same way wherever it is said. */
export function describeSilentEngine(engine: string, since?: string): string {
  return `${engine} ${since === undefined ? 'does not answer' : `has not answered since ${since}`}: ${ENGINE_REMEDY}`;
}

/** That the store is older than an agent has seen it, with what to do: said the same way wherever it is said. */
export function describeSetBack(): string {
  return 'etcd was restored from an older state than this node has seen, so nothing is changed here: restore the newest state there is; or, if this one is to count from now on, declare it with "moor admin restore" ("moor admin restore --preview" shows what would go)';
}

/** Of nodes, and of the filters that refuse a node. */
export const nodeReasons = {
  heartbeat_received: { meaning: 'The agent of the node sends heartbeats.' },
  platform_record: { meaning: 'A process of the control plane runs on the node, and keeps its record of that fresh.' },
  platform_record_stale: {
    meaning:
      'The node is the control plane’s own, and neither the control plane on it renews its record nor its agent sends heartbeats. It is never marked failed; the state of its containers is unknown.',
    remedy: 'Start the agent on the machine; where the control plane runs on it, set nodeName to the name of the node.',
  },
  no_heartbeat_yet: {
    meaning: 'The node is enrolled and its agent has sent no heartbeat yet.',
    remedy: 'Start the agent on the machine.',
  },
  heartbeat_missed: {
    meaning: 'The agent of the node sends no heartbeats. After the grace period its replicas are started elsewhere.',
    remedy: 'Check the machine, its network and its agent. If it is off for good: "moor nodes fence <node>".',
  },
  node_failed: {
    meaning: 'A replica is on a node whose agent sends no heartbeats.',
    remedy: `Check the machine and its agent. ${SEE_NODE}`,
  },
  node_gone: { meaning: 'A replica was on a node that is no longer enrolled.' },
  engine_answers: { meaning: 'The container engine of the node answers.' },
  engine_unreachable: {
    meaning: 'The agent of the node sends heartbeats, but its container engine does not answer.',
    remedy: 'Check and restart the container engine of the machine.',
  },
  containers_unlisted: {
    meaning: 'The container engine answers, but does not list its containers.',
    remedy: 'Check and restart the container engine of the machine.',
  },
  state_folder_unwritable: {
    meaning:
      'The agent of the node cannot write to its state folder. Its containers go on and are started again; attempts of jobs, and what begins to write to a replicated volume, are not started, since the agent could not remember that it has.',
    remedy: 'Free some disk space on the machine, or give the state folder to the user of the agent.',
  },
  store_set_back: {
    meaning:
      'The store, etcd, was restored from an older state than the agent of the node has seen, and that was not declared. Containers go on as they are, and nothing is started or removed because of what etcd says.',
    remedy:
      'Restore the newest state there is; or, if this one is to count from now on, declare it: "moor admin restore". "moor admin restore --preview" shows what would go.',
  },
  fenced: { meaning: 'An administrator has declared the machine off. It ends with the next heartbeat of its agent.' },
  draining: {
    meaning: 'The node is being emptied and takes no new work.',
    remedy: '"moor nodes undrain <node>" ends it.',
  },
  drained: { meaning: 'The node is empty and takes no new work.', remedy: '"moor nodes undrain <node>" ends it.' },
  undrained: { meaning: 'The drain of the node was ended: it takes work again.' },
  firewall_rule: { meaning: 'Containers on the node cannot reach link-local addresses.' },
  firewall_unavailable: {
    meaning: 'Containers on the node may reach link-local addresses, where clouds serve credentials.',
    remedy: 'Run the agent as root beside the engine, or block these addresses otherwise.',
  },
  second_agent_refused: {
    meaning: 'A second agent with the identity of the node was refused: its machine or its state folder is a copy.',
    remedy: 'Stop the copy, or remove its state folder and enrol it under a name of its own.',
  },
  tenant: {
    meaning: 'Filter: the node belongs to another tenant.',
    remedy: 'Enrol a node of the tenant itself: "moor nodes join-token" mints the token for it.',
  },
  ready: {
    meaning: 'Filter: the node is not ready: it fails, joins, is being drained, or its engine does not answer.',
    remedy: `"moor get nodes" shows the state of each; "moor nodes undrain <node>" ends a drain. ${SEE_NODE}`,
  },
  control_plane: {
    meaning: 'Filter: the control plane runs on the node, so it takes only the platform’s work.',
    remedy:
      'Enrol another node: "moor nodes join-token" mints the token for it. Nothing on a deployment overrides this.',
  },
  named_node: {
    meaning: 'Filter: the deployment names another node in nodeId.',
    remedy: 'Remove nodeId, or make that node ready.',
  },
  residency: {
    meaning: 'The node is not in a country or region where the data of the deployment may be.',
    remedy: 'Enrol a node there, or change placement.residency.',
  },
  label_constraint: {
    meaning: 'Filter: the labels of the node do not meet placement.constraints.',
    remedy: 'Label the node in the configuration of its agent, or change the constraint.',
  },
  capability: {
    meaning: 'Filter: the engine of the node cannot do what the workload needs.',
    remedy:
      'Remove what the message names from the spec, or enrol a node whose engine can; "moor describe node" shows what each lacks.',
  },
  anti_affinity: {
    meaning: 'Filter: a replica that this one must be apart from is on the node or in its topology domain.',
    remedy: 'Enrol another node, ask for fewer replicas, or change placement.antiAffinity.',
  },
  port: {
    meaning: 'Filter: another replica on the node holds the host port.',
    remedy: 'Choose another hostPort, or none; "moor explain deployment {name}" names the holder.',
  },
  resources: {
    meaning: 'Filter: the node has too little cpu or memory that no replica has requested.',
    remedy:
      'Lower resources, remove other deployments, or enrol a larger node; "moor explain deployment {name}" names the largest users.',
  },
  quota: {
    meaning: 'Filter: the quota of the tenant allows no further replica.',
    remedy: 'Remove other deployments, or have the platform raise the quota: "moor quotas".',
  },
} as const satisfies Readonly<Record<string, ReasonEntry>>;
