import { keys } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Candidate, Residents } from '../placement/index.js';
import { type Cache, value } from '../store/index.js';
import { REPLICAS_BY_NODE } from './indexes.js';
import { loadOf } from './load.js';
import { hostPortsOf } from './requests.js';

const NOBODY: Residents = { all: 0, staying: 0 };

/** A node as placement sees it. `assumed` are replicas, by uid, that count although the cache does not show them yet. */
export function candidateOf(node: StoredNode, cache: Cache, assumed?: ReadonlyMap<string, Replica>): Candidate {
  const on = replicasOn(node.id, cache, assumed);
  const residents = new Map<string, Residents>();
  const heldPorts = new Set<string>();
  for (const { deployment, retiringSince, template } of on) {
    const { all, staying } = residents.get(deployment) ?? NOBODY;
    residents.set(deployment, { all: all + 1, staying: retiringSince ? staying : staying + 1 });
    for (const port of hostPortsOf(template)) heldPorts.add(port);
  }
  const { cpu, memory } = loadOf(on);
  return {
    id: node.id,
    name: node.name,
    tenant: node.metadata.tenant,
    status: statusOf(node, cache),
    controlPlane: node.controlPlane,
    labels: node.labels,
    capacity: node.capacity,
    used: { cpu, memory },
    heldPorts,
    replicas: on.length,
    residents,
  };
}

/** A replica counts until its record is gone: until then its container may still be there. */
export function replicasOn(nodeId: string, cache: Cache, assumed?: ReadonlyMap<string, Replica>): readonly Replica[] {
  const shown = cache.by(REPLICAS_BY_NODE, nodeId).map(entry => value<Replica>(entry));
  if (!assumed || assumed.size === 0) return shown;

  const uids = new Set(shown.map(({ uid }) => uid));
  return [...shown, ...[...assumed.values()].filter(({ uid }) => !uids.has(uid))];
}

function statusOf({ id, name, metadata }: StoredNode, cache: Cache): Candidate['status'] {
  const entry = cache.get(keys.nodeStatus(metadata.tenant, name));
  const status = entry && value<NodeStatus>(entry);
  return status?.id === id ? status.status : 'unknown';
}
