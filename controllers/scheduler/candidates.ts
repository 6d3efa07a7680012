import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Candidate } from '../../pkg/placement/index.js';
import { type Cache, value } from '../../pkg/store/index.js';
import { REPLICAS_BY_NODE } from '../reading/index.js';
import type { Assumptions } from './assumptions.js';
import { hostPortsOf, requestsOf } from './workload.js';

/** The nodes of one tenant as placement sees them, for one deployment. Never looks past the tenant. */
export function candidatesFor(
  { tenant, deploymentUid }: { readonly tenant: string; readonly deploymentUid: string },
  cache: Cache,
  assumptions: Assumptions,
): readonly Candidate[] {
  return cache.list(ranges.of(ranges.nodes, tenant)).map(entry => {
    const node = value<StoredNode>(entry);
    const on = replicasOn(node.id, cache, assumptions);
    return {
      id: node.id,
      name: node.name,
      tenant: node.metadata.tenant,
      status: statusOf(node, cache),
      controlPlane: node.controlPlane,
      capacity: node.capacity,
      used: usedBy(on),
      heldPorts: new Set(on.flatMap(({ template }) => hostPortsOf(template))),
      replicas: on.length,
      siblings: on.filter(replica => replica.deploymentUid === deploymentUid && !replica.retiringSince).length,
    };
  });
}

/** A replica counts until its record is gone: until then its container may still be there. */
function replicasOn(nodeId: string, cache: Cache, assumptions: Assumptions): readonly Replica[] {
  const shown = cache.by(REPLICAS_BY_NODE, nodeId).map(entry => value<Replica>(entry));
  const assumed = assumptions.on(nodeId);
  if (assumed.size === 0) return shown;

  const uids = new Set(shown.map(({ uid }) => uid));
  return [...shown, ...[...assumed.values()].filter(({ uid }) => !uids.has(uid))];
}

function usedBy(replicas: readonly Replica[]): Candidate['used'] {
  let cpu = 0;
  let memory = 0;
  for (const { template } of replicas) {
    const requests = requestsOf(template);
    cpu += requests.cpu ?? 0;
    memory += requests.memory ?? 0;
  }
  return { cpu, memory };
}

function statusOf({ id, name, metadata }: StoredNode, cache: Cache): Candidate['status'] {
  const entry = cache.get(keys.nodeStatus(metadata.tenant, name));
  const status = entry && value<NodeStatus>(entry);
  return status?.id === id ? status.status : 'unknown';
}
