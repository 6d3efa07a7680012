import { cpuMillis, memoryBytes } from '../../crds/grammar/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { Capacity, NodePresence, NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { REPLICAS_BY_NODE } from '../../pkg/link/index.js';
import { type Cache, type Entry, value } from '../../pkg/store/index.js';
import type { Resource } from '../watch/resource.js';

/** A node as clients see it. */
export interface NodeView {
  readonly metadata: StoredNode['metadata'] & { readonly revision: string };
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly status: NodeStatus['status'];
  readonly schedulable: { readonly value: boolean; readonly reason: string };
  readonly controlPlane: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Capacity;
  /** What no replica on it has asked for. */
  readonly free: Capacity;
  readonly agent: { readonly version: string; readonly lastHeartbeatAt: string | null };
  readonly claims: readonly { readonly tenant: string; readonly since: string }[];
}

export interface NodeViewEnv {
  readonly cache: Cache;
  /** When each node was last heard by this server, in wall time. */
  readonly heard: ReadonlyMap<string, number>;
}

/** A node, what was seen of it, and what is left of it. */
export function nodeView(env: NodeViewEnv, entry: Entry, statusEntry: Entry | undefined): NodeView {
  const { metadata, id, name, labels, capacity, controlPlane, agentVersion } = value<StoredNode>(entry);
  const seen = statusEntry && value<NodeStatus>(statusEntry);
  const status = seen?.id === id ? seen.status : 'joining';
  const { tenant } = metadata;
  return {
    metadata: { ...metadata, revision: String(entry.revision) },
    id,
    name,
    tenant,
    status,
    schedulable: schedulable(status, controlPlane),
    controlPlane,
    labels,
    capacity,
    free: freeOf(env.cache, id, capacity),
    agent: { version: agentVersion, lastHeartbeatAt: lastHeartbeat(env, id, tenant, name) },
    claims: [{ tenant, since: metadata.createdAt }],
  };
}

/** Nodes, for lists and watches. */
export function nodeResource(env: NodeViewEnv): Resource {
  return {
    range: ranges.nodes,
    joined: ranges.nodeStatuses,
    view: (entry, status) => Buffer.from(JSON.stringify(nodeView(env, entry, status))),
  };
}

function schedulable(status: NodeStatus['status'], controlPlane: boolean): NodeView['schedulable'] {
  if (controlPlane) return { value: false, reason: 'the control plane runs on it' };
  return status === 'ready' ? { value: true, reason: 'ready' } : { value: false, reason: status };
}

function freeOf(cache: Cache, nodeId: string, { cpu, memory, disk }: Capacity): Capacity {
  let usedCpu = 0;
  let usedMemory = 0;
  for (const entry of cache.by(REPLICAS_BY_NODE, nodeId)) {
    const { resources } = value<Replica>(entry).template;
    usedCpu += cpuMillis(resources?.cpu ?? '') ?? 0;
    usedMemory += memoryBytes(resources?.memory ?? '') ?? 0;
  }
  return { cpu: Math.max(0, cpu - usedCpu), memory: Math.max(0, memory - usedMemory), disk };
}

/** Heartbeats leave no trace in the store: this server knows those that it heard, and the first of each presence. */
function lastHeartbeat({ cache, heard }: NodeViewEnv, id: string, tenant: string, name: string): string | null {
  const at = heard.get(id);
  if (at !== undefined) return new Date(at).toISOString();
  const alive = cache.get(`${ranges.alive}${tenant}/${name}`);
  return alive ? value<NodePresence>(alive).since : null;
}
