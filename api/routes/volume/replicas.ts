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
import { guardNode, listKnownNodes } from '../../admission/facts.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route } from '../../http/route.js';
import { type CachedEnv, write } from '../../write/write.js';
import { defineVolumeChange } from './change.js';
import { rejectUnmanaged } from './view.js';

const REPLICAS = '/api/v1/tenants/{tenant}/volumes/{id}/replicas';

/** Copies of a replicated volume. Where each is to be is stored; the volume keeper and the agents bring it about. */
export function createReplicaRoutes(env: AdmissionEnv): readonly Route[] {
  const chosen = { tenant: 'chosen' } as const;
  return [
    defineRoute('deployer', 'POST', REPLICAS, call => write(env, call, addition), chosen),
    defineRoute('deployer', 'DELETE', `${REPLICAS}/{node_id}`, call => write(env, call, removal), {
      ...chosen,
      query: [...WRITE_QUERY, 'force'],
    }),
  ];
}

const addition = defineReplicaChange('volume_replica_requested', (stored, { document }, { cache, staticFacts }) => {
  const { tenant } = stored.metadata;
  const unmanaged = rejectUnmanaged(staticFacts, stored);
  if (unmanaged) return unmanaged;
  const driver = findVolumeDriver(cache, stored);
  const unable = new Map(listNodes(cache, tenant).map(node => [node.id, explainNoCopies(node, driver)]));
  const checked = checkVolumeReplica(document, {
    nodes: listKnownNodes(cache, tenant).map(node => ({ ...node, noCopies: unable.get(node.id) })),
    regions: staticFacts.regions,
    volume: toKnown(cache, stored),
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

const removal = defineReplicaChange('volume_replica_removal_requested', (stored, { params, query }, { cache }) => {
  const named = params['node_id']!;
  const isForced = readFlag(query, 'force');
  if (isForced instanceof RequestRejection) return isForced;
  if (stored.class !== 'replicated') return rejectRequest('volume_replica_unsupported', 'node_id', named);
  const node = listNodes(cache, stored.metadata.tenant).find(({ id, name }) => id === named || name === named);
  const { copies, primaryNode, phase } = toKnown(cache, stored);
  const { replicas = 0, replicaNodes = [], excludedNodes = [], abandonedNodes = [] } = stored;
  const nodeId = node?.id ?? named;
  const isHeld = nodeId !== primaryNode && copies.some(copy => copy.nodeId === nodeId);
  if (!isHeld) return rejectRequest('resource_not_found', 'node_id', named);
  // The copy may be all that is left.
  const isServed = phase === 'Ready' || phase === 'Resizing';
  if (!isServed) return rejectRequest('volume_not_ready', 'id', params['id']!, { phase });
  // One that another has replaced was not among those that are wanted.
  const isSpare = excludedNodes.includes(nodeId) || countOthers(cache, stored, nodeId) >= replicas;
  const names = listSetAside(cache, stored, nodeId);
  if (names.length > 0 && !isForced) return rejectRequest('volume_replica_set_aside', 'node_id', named, { names });
  return {
    nodeId,
    replicas: isSpare ? replicas : replicas - 1,
    replicaNodes: replicaNodes.filter(id => id !== nodeId),
    excludedNodes: [...new Set([...excludedNodes, nodeId])],
    abandonedNodes: isForced ? [...new Set([...abandonedNodes, nodeId])] : abandonedNodes,
  };
});

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

type ReplicaReason = 'volume_replica_requested' | 'volume_replica_removal_requested';

/** How another set of copies is asked for. */
function defineReplicaChange(
  reason: ReplicaReason,
  judge: (stored: StoredVolume, call: ApiCall, env: CachedEnv<AdmissionEnv>) => ReplicaChange | RequestRejection,
) {
  return defineVolumeChange((stored, call, env) => {
    const change = judge(stored, call, env);
    if (change instanceof RequestRejection) return change;
    const { cache } = env;
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
      describe: next => draftEvent(cache, call, next, nodeId, reason),
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
  cache: Cache,
  { caller }: ApiCall,
  { id, name, metadata, replicas = 0 }: StoredVolume,
  nodeId: string,
  reason: ReplicaReason,
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
