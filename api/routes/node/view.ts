import { isDnsLabel } from '../../../crds/grammar/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import {
  type AdvertisedCondition,
  type Capacity,
  type NodeClaim,
  type NodeNameRecord,
  type NodePresence,
  listNodeConditions,
  type NodeStatus,
  type StoredNode,
} from '../../../crds/node/index.js';
import { describeSilentEngine } from '../../../crds/reasons/index.js';
import type { Settings } from '../../../pkg/config/index.js';
import { listReplicasOn, NODES_BY_ID, sumRequests } from '../../../pkg/fleet/index.js';
import { type Cache, type Entry, findRecordFault, value } from '../../../pkg/store/index.js';
import type { QuotaEnv } from '../../admission/env.js';
import type { ApiCall } from '../../http/route.js';
import type { TokenEnv } from '../token/routes.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import type { ReaderOptions } from '../kind-routes.js';

/** What nodes are enrolled, drained, fenced and shown with. */
export interface NodeEnv extends QuotaEnv, TokenEnv, NodeViewEnv {
  readonly settings: Settings;
}

/** What a node is shown with. */
export interface NodeViewEnv {
  readonly cache: Cache;
  /** When each node last sent a heartbeat to this server, in wall time. */
  readonly lastHeartbeatAt: ReadonlyMap<string, number>;
}

/** A node as clients see it: with its status, the capacity that no replica requests, and the tenant's claim. */
export function toNodeResponse(env: NodeViewEnv, entry: Entry, statusEntry: Entry | undefined) {
  const node = value<StoredNode>(entry);
  const {
    metadata,
    id,
    name,
    labels,
    capacity,
    controlPlane,
    agentVersion,
    engine = null,
    volumeAddress = null,
    volumeDriver = null,
    lacks = [],
    removedVolumes = null,
  } = node;
  const written = statusEntry && value<NodeStatus>(statusEntry);
  const seen = written?.id === id ? written : undefined;
  const fault = findRecordFault(entry);
  const { tenant } = metadata;
  return {
    metadata: { ...metadata, revision: String(entry.revision) },
    id,
    name,
    tenant,
    status: readStatus(node, seen),
    schedulable: readSchedulable(node, seen, fault),
    ...(seen?.unobservedSince !== undefined && { unobservedSince: seen.unobservedSince }),
    controlPlane,
    labels,
    capacity,
    free: computeFree(env.cache, id, capacity),
    agent: { version: agentVersion, lastHeartbeatAt: findLastHeartbeat(env, id, tenant, name) },
    engine,
    volumeAddress,
    volumeDriver,
    lacks,
    removedVolumes,
    claims: listClaims(env.cache, node),
    conditions: [
      ...listNodeConditions(node, seen),
      ...listRivalCondition(env.cache, node),
      ...(fault === undefined ? [] : [toRecordCondition(fault)]),
    ],
  };
}

/** Present only while the record of the node cannot be worked with. */
function toRecordCondition(fault: string): AdvertisedCondition {
  return { type: 'RecordUsable', status: 'False', reason: 'record_unusable', message: describeFault(fault) };
}

function describeFault(fault: string): string {
  return `what is stored of the node cannot be worked with (${fault}): delete the node and enrol it again`;
}

/** A second agent with the identity of the node, as a condition; none while there is none. */
function listRivalCondition(cache: Cache, { id, name, metadata }: StoredNode): readonly AdvertisedCondition[] {
  const alive = cache.get(keys.alive(metadata.tenant, name));
  const presence = alive && value<NodePresence>(alive);
  if (presence?.id !== id || !presence.rival?.isAnnounced) return [];
  const { since } = presence.rival;
  const message = `a second agent with the identity of this node has been refused since ${since}: its machine or its state folder is a copy; stop it, or enrol it under a name of its own`;
  return [{ type: 'SingleAgent', status: 'False', reason: 'second_agent_refused', message }];
}

/** Nodes are shown by a view of their own, and found by id or by name. */
export function createNodeReader(env: NodeViewEnv): ReaderOptions {
  return {
    resource: {
      range: ranges.nodes,
      joined: ranges.nodeStatuses,
      // The free capacity changes without the node.
      isVolatile: true,
      view: (entry, status) => Buffer.from(JSON.stringify(toNodeResponse(env, entry, status))),
    },
    find: call => findNodeEntry(env, call),
  };
}

/** An order counts as soon as it is stored, before the node monitor has acted on it. */
function readStatus({ orders }: StoredNode, seen: NodeStatus | undefined): NodeStatus['status'] {
  const status = seen?.status ?? 'joining';
  return (status === 'ready' || status === 'unready') && orders?.drain ? 'draining' : status;
}

function readSchedulable(node: StoredNode, seen: NodeStatus | undefined, fault: string | undefined) {
  if (fault !== undefined) return { value: false, reason: describeFault(fault) };
  const status = readStatus(node, seen);
  if (status === 'draining') return { value: false, reason: seen?.reason === 'drained' ? 'drained' : 'draining' };
  if (node.controlPlane) {
    const down = seen?.unobservedSince !== undefined && !seen.isSilent ? `; ${ENGINE_DOWN}` : '';
    return { value: false, reason: `the control plane runs on this node${down}` };
  }
  if (status === 'unready' || seen?.unobservedSince !== undefined) return { value: false, reason: ENGINE_DOWN };
  if (status === 'ready') return { value: true, reason: 'ready' };
  return { value: false, reason: seen?.lost ? `${status}: ${LOST[seen.lost]}` : status };
}

const ENGINE_DOWN = describeSilentEngine('its container engine');
const LOST = {
  heartbeat_missed: 'its replicas are started on other nodes where they can be',
  fence: 'fenced by an administrator',
} as const;

/** The claim of the tenant that the node belongs to. Who else waits for the machine is not its business. */
function listClaims(cache: Cache, { name, metadata }: StoredNode): readonly NodeClaim[] {
  const record = cache.get(keys.nodeName(name));
  if (!record) return [{ tenant: metadata.tenant, since: metadata.createdAt }];
  return value<NodeNameRecord>(record).claims.filter(({ tenant }) => tenant === metadata.tenant);
}

function computeFree(cache: Cache, nodeId: string, { cpu, memory, disk }: Capacity): Capacity {
  const used = sumRequests(listReplicasOn(nodeId, cache));
  return { cpu: Math.max(0, cpu - used.cpu), memory: Math.max(0, memory - used.memory), disk };
}

/** Heartbeats are not stored: this server knows those that it received, and the first of each presence. */
function findLastHeartbeat(
  { cache, lastHeartbeatAt }: NodeViewEnv,
  id: string,
  tenant: string,
  name: string,
): string | null {
  const alive = cache.get(keys.alive(tenant, name));
  const since = alive ? Date.parse(value<NodePresence>(alive).since) : Number.NEGATIVE_INFINITY;
  const at = Math.max(since, lastHeartbeatAt.get(id) ?? Number.NEGATIVE_INFINITY);
  return Number.isFinite(at) ? new Date(at).toISOString() : null;
}

/** The node with this id, of any tenant. */
export function findNodeById(cache: Cache, id: string): Entry | undefined {
  return cache.by(NODES_BY_ID, id)[0];
}

/** The tenant's node that `{id}` names, by its id or by its name. */
export function findNodeEntry({ cache }: NodeViewEnv, { tenant, params }: ApiCall): Entry | RequestRejection {
  const id = params['id']!;
  const entry = isDnsLabel(id) ? cache.get(keys.node(tenant, id)) : findNodeById(cache, id);
  if (entry?.key.startsWith(ranges.of(ranges.nodes, tenant))) return entry;
  return rejectRequest('resource_not_found', 'id', id);
}

/** The same, as it is stored now. */
export async function loadNode(env: NodeViewEnv, call: ApiCall): Promise<Entry | RequestRejection> {
  await env.cache.barrier();
  return findNodeEntry(env, call);
}
