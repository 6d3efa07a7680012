import type { Deployment, StoredDeployment } from '../../crds/deployment/index.js';
import { parseCpu, parseMemory } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Amounts, Candidate, FleetTotals, ReplicaCount } from '../placement/index.js';
import { type Cache, value } from '../store/index.js';

/** Replicas by the id of the node they are on. */
export const REPLICAS_BY_NODE = 'fleet.replicas-by-node';

/** Nodes by id. */
export const NODES_BY_ID = 'fleet.nodes-by-id';

/** Deployments by the tenant and name of each deployment that they keep apart from, as `<tenant>/<name>`. */
export const AVOIDERS = 'fleet.avoiders';

const ANTI_AFFINITY = Buffer.from('"antiAffinity":');
const defined = new WeakSet<Cache>();

/** Files what placement looks up. To be called before the cache is fed, by everybody who uses this package. */
export function defineFleetIndexes(cache: Cache): void {
  if (defined.has(cache)) return;
  defined.add(cache);
  cache.defineIndex(REPLICAS_BY_NODE, ranges.replicas, entry => {
    const { nodeId } = value<Replica>(entry);
    return nodeId === undefined ? [] : [nodeId];
  });
  cache.defineIndex(NODES_BY_ID, ranges.nodes, entry => [value<StoredNode>(entry).id]);
  cache.defineIndex(AVOIDERS, ranges.deployments, entry => {
    // Every new deployment passes here, and hardly one keeps apart from others: those are not parsed for it.
    if (!entry.bytes.includes(ANTI_AFFINITY)) return [];
    const { metadata, placement } = value<StoredDeployment>(entry);
    return (placement?.antiAffinity?.deployments ?? []).map(name => `${metadata.tenant}/${name}`);
  });
}

/** The requests of a template in numbers. Admission has refused what cannot be read, so nothing is lost here. */
export function parseRequests({ resources }: Pick<Deployment, 'resources'>): Partial<Amounts> {
  const cpu = resources?.cpu === undefined ? undefined : parseCpu(resources.cpu);
  const memory = resources?.memory === undefined ? undefined : parseMemory(resources.memory);
  return { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) };
}

/** The host ports of a template, each as `80/tcp`. */
export function listHostPorts({ ports = [] }: Pick<Deployment, 'ports'>): readonly string[] {
  return ports.flatMap(({ hostPort, protocol }) => (hostPort === undefined ? [] : [`${hostPort}/${protocol}`]));
}

/** What replicas come to together. */
export function sumRequests(replicas: readonly Replica[]): FleetTotals {
  let cpu = 0;
  let memory = 0;
  for (const { template } of replicas) {
    const requests = parseRequests(template);
    cpu += requests.cpu ?? 0;
    memory += requests.memory ?? 0;
  }
  return { replicas: replicas.length, cpu, memory };
}

/** The sum of several loads. */
export function sumTotals(loads: Iterable<FleetTotals>): FleetTotals {
  let sum: FleetTotals = { replicas: 0, cpu: 0, memory: 0 };
  for (const { replicas, cpu, memory } of loads) {
    sum = { replicas: sum.replicas + replicas, cpu: sum.cpu + cpu, memory: sum.memory + memory };
  }
  return sum;
}

const NOBODY: ReplicaCount = { all: 0, staying: 0 };

/** A node as placement sees it. `assumed` are replicas, by uid, that count although the cache does not show them yet. */
export function toCandidate(node: StoredNode, cache: Cache, assumed?: ReadonlyMap<string, Replica>): Candidate {
  const on = listReplicasOn(node.id, cache, assumed);
  const residents = new Map<string, ReplicaCount>();
  const heldPorts = new Set<string>();
  for (const { deployment, retiringSince, template } of on) {
    const { all, staying } = residents.get(deployment) ?? NOBODY;
    residents.set(deployment, { all: all + 1, staying: retiringSince ? staying : staying + 1 });
    for (const port of listHostPorts(template)) heldPorts.add(port);
  }
  const { cpu, memory } = sumRequests(on);
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
    replicasByDeployment: residents,
  };
}

/** A replica counts until its record is gone: until then its container may still be there. */
export function listReplicasOn(
  nodeId: string,
  cache: Cache,
  assumed?: ReadonlyMap<string, Replica>,
): readonly Replica[] {
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
