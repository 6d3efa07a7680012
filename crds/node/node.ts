import type { Metadata } from '../meta/index.js';

/** What a node has. cpu in thousandths of a core, the others in bytes. */
export interface Capacity {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
}

/** `nodes/<tenant>/<name>`. */
export interface StoredNode {
  readonly metadata: Metadata;
  /** `node_…`; the same as `metadata.uid`. */
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Capacity;
  /** Ed25519, SPKI in base64: enrolling again under this name needs the same key. */
  readonly publicKey: string;
  readonly controlPlane: boolean;
  readonly agentVersion: string;
  /** The time in milliseconds that the last renewal of its token was signed with: the next one needs a later time. */
  readonly renewedAt?: number;
  /** What the agent found on its machine. */
  readonly conditions?: readonly AdvertisedCondition[];
  /** What people have decided about the machine. They stand through restarts and silence. */
  readonly orders?: NodeOrders;
}

/** Something about the machine that operators should see, in Kubernetes' shape. */
export interface AdvertisedCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** What an administrator has decided about a node. */
export interface NodeOrders {
  /** It is to be emptied, and to be given nothing new. */
  readonly drain?: NodeOrder;
  /** The machine is off for certain: nothing runs there. Ends with the next heartbeat of its agent. */
  readonly fence?: NodeOrder;
}

/** Who decided, and when. */
export interface NodeOrder {
  readonly by: string;
  readonly since: string;
}

/** Value of `node-names/<name>`: who may have the machine of that name, over all tenants. */
export interface NodeNameRecord {
  /** The oldest first: it owns the node. The other grants nothing until the first is released. */
  readonly claims: readonly NodeClaim[];
}

/** One tenant's claim to a machine. */
export interface NodeClaim {
  readonly tenant: string;
  readonly since: string;
}

/** Whether a node can be given work. */
export type NodeCondition = 'joining' | 'ready' | 'draining' | 'failed';

/** `node-status/<tenant>/<name>`. */
export interface NodeStatus {
  readonly id: string;
  readonly status: NodeCondition;
  /** One word: `heartbeat_received`, `heartbeat_missed`, `fenced`, `draining`, `drained` … */
  readonly reason: string;
  readonly since: string;
  /**
   * Set while what is on the node counts as lost: `heartbeat_missed` is a judgement that a machine which is merely
   * cut off would contradict, `fence` an administrator's word.
   */
  readonly lost?: 'heartbeat_missed' | 'fence';
  /** Set while the agent cannot see its containers, for example because its engine does not answer: their state is unknown. */
  readonly unobservedSince?: string;
}

/** Words of earlier releases, which may still be stored. */
const FORMER_WORDS: Readonly<Record<string, string>> = {
  heard: 'heartbeat_received',
  not_heard_yet: 'no_heartbeat_yet',
  silent: 'heartbeat_missed',
  silence: 'heartbeat_missed',
};

/** A stored status in the words of this release. */
export function toNodeStatus(stored: NodeStatus): NodeStatus {
  const { reason, lost, ...rest } = stored;
  const toWord = <Word extends string>(word: Word) => (FORMER_WORDS[word] ?? word) as Word;
  return { ...rest, reason: toWord(reason), ...(lost && { lost: toWord(lost) }) };
}

/** Value of `alive/<tenant>/<name>`. */
export interface NodePresence {
  readonly id: string;
  readonly lease: string;
  readonly since: string;
  /** Set while the agent sends heartbeats but has not seen its containers for too long. */
  readonly unobservedSince?: string;
}
