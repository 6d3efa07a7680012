import type { Metadata } from '../meta/index.js';
import { ENGINE_REMEDY, type Reason } from '../reasons/index.js';

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
  /** The engine that the agent drives. */
  readonly engine?: AdvertisedEngine;
  /** `host:port` where other nodes of the tenant send copies of volumes to. The control plane passes it on and never dials it. */
  readonly volumeAddress?: string;
  /** What keeps volumes of type `volume` there: `btrfs`, `directory`; left out by an agent that keeps none. */
  readonly volumeDriver?: string;
  /** What its engine cannot do: words of `nodeFeatures`, or of an agent of another release. */
  readonly lacks?: readonly string[];
  /** What the agent found on its machine. */
  readonly conditions?: readonly AdvertisedCondition[];
  /** Volumes that were removed there and whose bytes are kept for a time; left out where there are none. */
  readonly removedVolumes?: AdvertisedRemovals;
  /** Only while its agent holds, because the store was set back. */
  readonly setBack?: AdvertisedSetBack;
  /** What people have decided about the machine. They stand through restarts and silence. */
  readonly orders?: NodeOrders;
}

/** A container engine, as its agent names it. */
export interface AdvertisedEngine {
  readonly name: string;
  readonly version: string;
}

/** Something about the machine that operators should see, in Kubernetes' shape. */
export interface AdvertisedCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** A `Reason`, or the word of an agent of another release. */
  readonly reason: string;
  readonly message: string;
}

/** The removed volumes whose bytes are still on a node: the first few, those that were removed last first. */
export interface AdvertisedRemovals {
  readonly volumes: readonly RemovedVolume[];
  /** How many were left out. */
  readonly more?: number;
}

/** A removed volume whose bytes are still there. */
export interface RemovedVolume {
  /** Its id and a number, by which its agent brings it back. */
  readonly name: string;
  /** What it was called. */
  readonly volume?: string;
  readonly bytes: number;
  /** When they go, if the agent runs all the time and their room is not needed: by the clock of the machine. */
  readonly until: string;
}

/** What would become of a node if its agent did what a store says that was set back. Of each the first few. */
export interface AdvertisedSetBack {
  /** Containers that the store does not know, as `deployment/slot`, or wants no more: they would be removed. */
  readonly containers: readonly string[];
  /** Volumes whose bytes would be removed. */
  readonly removed: readonly string[];
  /** Volumes that the node would be a copy of from then on: what it holds of them would be set aside. */
  readonly demoted: readonly string[];
  /** Volumes of which bytes that were set aside earlier would be removed. */
  readonly discarded: readonly string[];
  /** Volumes of which the node has seen a later epoch than the store knows. */
  readonly newer: readonly string[];
  /** Volumes that the store does not have on this node: their bytes stay, and nothing uses them. */
  readonly unknown: readonly string[];
  /** What containers were given that the store does not know with those versions, as `<namespace>/<label>@<version>`. */
  readonly secrets: readonly string[];
  /** How many were left out. */
  readonly more?: number;
  /** Of all of it, also of what was left out: a declaration counts for the node when it names this. */
  readonly digest: string;
}

/** What of that cannot be undone by another declaration: where there is none of it, nothing has to be confirmed. */
export const lossKinds = ['containers', 'removed', 'demoted', 'discarded'] as const;

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

/** Whether a node can be given work: `unready` while its agent sends heartbeats, but its container engine does not answer. */
export type NodeCondition = 'joining' | 'ready' | 'unready' | 'draining' | 'failed';

/** `node-status/<tenant>/<name>`. */
export interface NodeStatus {
  readonly id: string;
  readonly status: NodeCondition;
  /** One word: `heartbeat_received`, `heartbeat_missed`, `fenced`, `draining`, `drained` … */
  readonly reason: Reason;
  readonly since: string;
  /**
   * Set while what is on the node counts as lost: `heartbeat_missed` is a judgement that a machine which is merely
   * cut off would contradict, `fence` an administrator's word.
   */
  readonly lost?: 'heartbeat_missed' | 'fence';
  /** Set while the agent cannot see its containers, for example because its engine does not answer: their state is unknown. */
  readonly unobservedSince?: string;
  /**
   * Only of the control plane's own node, which never counts as failed: neither its agent nor the control plane on it
   * reports, and `unobservedSince` says since when.
   */
  readonly isSilent?: true;
}

/** Value of `alive/<tenant>/<name>`. */
export interface NodePresence {
  readonly id: string;
  readonly lease: string;
  readonly since: string;
  /** Set while the agent sends heartbeats but has not seen its containers for too long. */
  readonly unobservedSince?: string;
  /** The run of the agent that has the node, and this lease alone. */
  readonly run: string;
  readonly rival?: DuplicateAgent;
}

/** A second agent with the identity of a node, which was refused. */
export interface DuplicateAgent {
  /** Its latest run. */
  readonly run: string;
  readonly since: string;
  /** When it was last refused, to the minute. */
  readonly at: string;
  /** That the node has two agents is certain, because the other one has sent a heartbeat since, and was announced. */
  readonly isAnnounced?: true;
}

/** An agent lists its containers every 30 s, so one list may be late: what it has not seen for longer is not claimed any more. */
export const CONTAINERS_SEEN_WITHIN_MS = 75_000;

/** The condition that says whether the container engine of a node answers. */
const ENGINE_READY = 'EngineReady';

/** What a replica uses on a node: thousandths of a core, and bytes. */
export interface ReplicaUsage {
  readonly replica: string;
  readonly cpu: number;
  readonly memory: number;
}

/** `usage/<tenant>/<node>`, on the node's lease: what its containers used a moment ago. */
export interface NodeUsage {
  /** Of the node. */
  readonly id: string;
  /** When the agent said so, by the clock of the server. */
  readonly at: string;
  readonly replicas: readonly ReplicaUsage[];
}

/** Whether an agent says that its container engine does not answer. */
export function isEngineDown(conditions: readonly AdvertisedCondition[] = []): boolean {
  return conditions.some(({ type, status }) => type === ENGINE_READY && status === 'False');
}

/** The conditions of a node as they stand now: what an agent said before it fell silent is not known any more. */
export function listNodeConditions(
  { conditions = [] }: Pick<StoredNode, 'conditions'>,
  status: NodeStatus | undefined,
): readonly AdvertisedCondition[] {
  const others = conditions.filter(({ type }) => type !== ENGINE_READY);
  const advertised = conditions.find(({ type }) => type === ENGINE_READY);
  return [...others, judgeEngine(advertised, status)];
}

function judgeEngine(advertised: AdvertisedCondition | undefined, status: NodeStatus | undefined): AdvertisedCondition {
  const type = ENGINE_READY;
  if (!status || status.isSilent || status.status === 'joining' || status.status === 'failed') {
    const message = 'the agent sends no heartbeats, so nothing is known of its container engine';
    return { type, status: 'Unknown', reason: status?.reason ?? 'no_heartbeat_yet', message };
  }
  if (advertised) return advertised;
  if (status.unobservedSince === undefined) {
    return { type, status: 'True', reason: 'engine_answers', message: 'the agent sees its containers' };
  }
  const message = `the agent has not seen its containers since ${status.unobservedSince}: ${ENGINE_REMEDY}`;
  return { type, status: 'False', reason: 'containers_unlisted', message };
}
