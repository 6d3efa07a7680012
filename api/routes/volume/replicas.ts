import { isDeepStrictEqual } from 'node:util';

import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import {
  checkVolumeReplica,
  getVolumePhase,
  type KnownVolume,
  type StoredVolume,
  type VolumeStatus,
} from '../../../crds/volume/index.js';
import { explainNoCopies, findVolumeDriver } from '../../../pkg/fleet/index.js';
import { type Cache, listValues, readValue } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { guardNode, readNodes } from '../../admission/facts.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';
import { changeVolume } from './change.js';

const REPLICAS = '/api/v1/tenants/{tenant}/volumes/{id}/replicas';

/** Copies of a replicated volume. Where each is to be is stored; the volume keeper and the agents bring it about. */
export function createReplicaRoutes(env: AdmissionEnv): readonly Route[] {
  const chosen = { tenant: 'chosen' } as const;
  return [
    defineRoute('deployer', 'POST', REPLICAS, call => addReplica(env, call), chosen),
    defineRoute('deployer', 'DELETE', `${REPLICAS}/{node_id}`, call => removeReplica(env, call), {
      ...chosen,
      query: [...WRITE_QUERY, 'force'],
    }),
  ];
}

function addReplica(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  return changeReplicas(env, call, 'volume_replica_requested', async stored => {
    const { tenant } = stored.metadata;
    if (env.staticFacts.volumeManagement === 'off')
      return rejectRequest('volume_binding_unavailable', 'volumes', stored.name);
    const nodes = await readNodes(env.cache, tenant);
    const driver = findVolumeDriver(env.cache, stored);
    const unable = new Map(listNodes(env.cache, tenant).map(node => [node.id, explainNoCopies(node, driver)]));
    const checked = checkVolumeReplica(call.document, {
      nodes: nodes === 'unreadable' ? nodes : nodes.map(node => ({ ...node, noCopies: unable.get(node.id) })),
      regions: env.staticFacts.regions,
      volume: toKnown(env.cache, stored),
    });
    if (!checked.ok) return new RequestRejection(checked.rejections);
    const { nodeId } = checked.value;
    const { replicas = 0, replicaNodes = [], excludedNodes = [], abandonedNodes = [] } = stored;
    return {
      nodeId,
      replicas: replicas + 1,
      replicaNodes: [...new Set([...replicaNodes, nodeId])],
      excludedNodes: excludedNodes.filter(id => id !== nodeId),
      abandonedNodes: abandonedNodes.filter(id => id !== nodeId),
    };
  });
}

async function removeReplica(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const named = call.params['node_id']!;
  const isForced = readFlag(call.query, 'force');
  if (isForced instanceof RequestRejection) return isForced;
  return changeReplicas(env, call, 'volume_replica_removal_requested', stored => {
    if (stored.class !== 'replicated') return rejectRequest('volume_replica_unsupported', 'node_id', named);
    const node = listNodes(env.cache, stored.metadata.tenant).find(({ id, name }) => id === named || name === named);
    const { copies, primaryNode, phase } = toKnown(env.cache, stored);
    const { replicas = 0, replicaNodes = [], excludedNodes = [], abandonedNodes = [] } = stored;
    const nodeId = node?.id ?? named;
    const isHeld = nodeId !== primaryNode && copies.some(copy => copy.nodeId === nodeId);
    if (!isHeld) return rejectRequest('resource_not_found', 'node_id', named);
    // The copy may be all that is left.
    const isServed = phase === 'Ready' || phase === 'Resizing';
    if (!isServed) return rejectRequest('volume_not_ready', 'id', call.params['id']!, { phase });
    // One that another has replaced was not among those that are wanted.
    const isSpare = excludedNodes.includes(nodeId) || countOthers(env.cache, stored, nodeId) >= replicas;
    const names = listSetAside(env.cache, stored, nodeId);
    if (names.length > 0 && !isForced) return rejectRequest('volume_replica_set_aside', 'node_id', named, { names });
    return {
      nodeId,
      replicas: isSpare ? replicas : replicas - 1,
      replicaNodes: replicaNodes.filter(id => id !== nodeId),
      excludedNodes: [...new Set([...excludedNodes, nodeId])],
      abandonedNodes: isForced ? [...new Set([...abandonedNodes, nodeId])] : abandonedNodes,
    };
  });
}

/** The copies that are alive, or are to be made, on other nodes. */
function countOthers(cache: Cache, stored: StoredVolume, nodeId: string): number {
  const { copies = [], primaryNode } = readStatus(cache, stored) ?? {};
  const { replicaNodes = [], excludedNodes = [] } = stored;
  const others = new Set(keepEnrolled(cache, stored, [...copies.map(copy => copy.nodeId), ...replicaNodes]));
  const lost = copies.filter(({ state }) => state === 'lost').map(copy => copy.nodeId);
  for (const id of [nodeId, ...excludedNodes, ...lost, primaryNode]) if (id !== undefined) others.delete(id);
  return others.size;
}

function keepEnrolled(cache: Cache, { metadata }: StoredVolume, nodes: readonly string[]): readonly string[] {
  const enrolled = new Set(listNodes(cache, metadata.tenant).map(node => node.id));
  return nodes.filter(each => enrolled.has(each));
}

function readStatus(cache: Cache, { id, metadata }: StoredVolume): VolumeStatus | undefined {
  return readValue<VolumeStatus>(cache, keys.volumeStatus(metadata.tenant, id));
}

/** What a former primary has set aside on a node. */
function listSetAside(cache: Cache, stored: StoredVolume, nodeId: string): readonly string[] {
  const { divergent = [] } = readStatus(cache, stored) ?? {};
  return divergent.flatMap(each => (each.nodeId === nodeId ? [each.name] : []));
}

type NodeLists = Required<Pick<StoredVolume, 'replicaNodes' | 'excludedNodes' | 'abandonedNodes'>>;

interface ReplicaChange extends NodeLists {
  readonly nodeId: string;
  readonly replicas: number;
}

type ReplicaVerdict = ReplicaChange | RequestRejection;

/** Stores another set of copies. */
function changeReplicas(
  env: AdmissionEnv,
  call: ApiCall,
  reason: 'volume_replica_requested' | 'volume_replica_removal_requested',
  judge: (stored: StoredVolume) => ReplicaVerdict | Promise<ReplicaVerdict>,
): Promise<RouteResult> {
  const { cache } = env;
  return changeVolume(env, call, async stored => {
    const change = await judge(stored);
    if (change instanceof RequestRejection) return change;
    const { metadata, id: _, ...before } = stored;
    const { nodeId, replicas, replicaNodes, excludedNodes, abandonedNodes } = change;
    const keep = (nodes: readonly string[]) => keepEnrolled(cache, stored, nodes);
    const lists = {
      replicaNodes: keep(replicaNodes),
      excludedNodes: keep(excludedNodes),
      abandonedNodes: keep(abandonedNodes),
    };
    const after = { ...before, replicas, ...lists };
    return {
      after,
      isSame: isDeepStrictEqual({ abandonedNodes: [], ...before }, after),
      guards: reason === 'volume_replica_requested' ? guardNode(cache, metadata.tenant, nodeId) : [],
      describe: next => draftEvent(env, call, next, nodeId, reason),
    };
  });
}

function listNodes(cache: Cache, tenant: string): readonly StoredNode[] {
  return listValues<StoredNode>(cache, ranges.of(ranges.nodes, tenant));
}

/** A volume with its copies; those that are still to be removed, or to be made, count. */
function toKnown(cache: Cache, stored: StoredVolume): KnownVolume {
  const { metadata: _, primaryNode: asked, ...spec } = stored;
  const status = readStatus(cache, stored);
  const primaryNode = status?.primaryNode ?? asked;
  const others = [...(status?.leaving ?? []), ...(stored.replicaNodes ?? [])];
  return {
    ...spec,
    phase: getVolumePhase(stored, status),
    copies: [...(status?.copies ?? []), ...others.map(nodeId => ({ nodeId, state: 'lost' }) as const)],
    ...(primaryNode !== undefined && { primaryNode }),
    consumers: [],
  };
}

function draftEvent(
  { cache }: AdmissionEnv,
  { caller }: ApiCall,
  { id, name, metadata, replicas = 0 }: StoredVolume,
  nodeId: string,
  reason: 'volume_replica_requested' | 'volume_replica_removal_requested',
) {
  const node = listNodes(cache, metadata.tenant).find(each => each.id === nodeId)?.name ?? nodeId;
  const done = reason === 'volume_replica_requested' ? 'is to be made on' : 'is to be removed from';
  return {
    type: 'volume.replicas_changed',
    tenant: metadata.tenant,
    subject: { kind: 'Volume', name, id },
    reason,
    message: `a copy of volume ${name} ${done} ${node}, asked for by ${describeCaller(caller)}`,
    data: { nodeId, replicas, by: caller.id },
  } as const;
}
