import type { Deployment, StoredDeployment } from '../../crds/deployment/index.js';
import { parseCpu, parseMemory } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type Amounts, type Candidate, type FleetTotals, type ReplicaCount, withReplicas } from '../placement/index.js';
import { type Cache, readValue, value } from '../store/index.js';

/** Replicas by the id of the node they are on. */
export const REPLICAS_BY_NODE = 'fleet.replicas-by-node';

/** Nodes by id. */
export const NODES_BY_ID = 'fleet.nodes-by-id';

/** Deployments by each deployment that their anti-affinity names, as `<tenant>/<name>`. */
export const AVOIDED_BY = 'fleet.avoiders';

const ANTI_AFFINITY = Buffer.from('"antiAffinity":');
const defined = new WeakSet<Cache>();

/** Defines the indexes of this package. Must be called before the cache is fed; calling it again does nothing. */
export function defineFleetIndexes(cache: Cache): void {
  if (defined.has(cache)) return;
  defined.add(cache);
  cache.defineIndex(REPLICAS_BY_NODE, ranges.replicas, entry => {
    const { nodeId } = value<Replica>(entry);
    return nodeId === undefined ? [] : [nodeId];
  });
  cache.defineIndex(NODES_BY_ID, ranges.nodes, entry => [value<StoredNode>(entry).id]);
  cache.defineIndex(AVOIDED_BY, ranges.deployments, entry => {
    // Runs for every new deployment, and few declare anti-affinity: the others are not parsed for it.
    if (!entry.bytes.includes(ANTI_AFFINITY)) return [];
    const { metadata, placement } = value<StoredDeployment>(entry);
    return (placement?.antiAffinity?.deployments ?? []).map(name => `${metadata.tenant}/${name}`);
  });
}

/** The requests of a template in numbers. Admission rejects what cannot be parsed, so no request is lost here. */
export function parseRequests({ resources }: Pick<Deployment, 'resources'>): Partial<Amounts> {
  const requests: { cpu?: number; memory?: number } = {};
  const cpu = resources?.cpu === undefined ? undefined : parseCpu(resources.cpu);
  const memory = resources?.memory === undefined ? undefined : parseMemory(resources.memory);
  if (cpu !== undefined) requests.cpu = cpu;
  if (memory !== undefined) requests.memory = memory;
  return requests;
}

/** The host ports of a template, each as `80/tcp`. */
export function listHostPorts({ ports = [] }: Pick<Deployment, 'ports'>): readonly string[] {
  return ports.flatMap(({ hostPort, protocol }) => (hostPort === undefined ? [] : [`${hostPort}/${protocol}`]));
}

/** The number of replicas, and the sums of their requests. */
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

/** The node with this id, when it belongs to the tenant. */
export function findNode(id: string, tenant: string, cache: Cache): StoredNode | undefined {
  const nodes = cache.by(NODES_BY_ID, id).map(entry => value<StoredNode>(entry));
  return nodes.find(({ metadata }) => metadata.tenant === tenant);
}

const NO_REPLICAS: ReplicaCount = { all: 0, staying: 0 };
const NO_PORTS: ReadonlySet<string> = new Set();

/** A node with its load. `assumed` are replicas, by uid, that count although the cache does not show them yet. */
export function toCandidate(node: StoredNode, cache: Cache, assumed?: ReadonlyMap<string, Replica>): Candidate {
  const { id, name, controlPlane, labels, capacity, lacks, metadata } = node;
  const replicas = listReplicasOn(id, cache, assumed);
  const replicasByDeployment = new Map<string, ReplicaCount>();
  for (const { deployment, retiringSince } of replicas) {
    const { all, staying } = replicasByDeployment.get(deployment) ?? NO_REPLICAS;
    replicasByDeployment.set(deployment, { all: all + 1, staying: retiringSince ? staying : staying + 1 });
  }
  const { cpu, memory } = sumRequests(replicas);
  const ports = replicas.flatMap(({ template }) => listHostPorts(template));
  const status = readValue<NodeStatus>(cache, keys.nodeStatus(metadata.tenant, name));
  return {
    id,
    name,
    tenant: metadata.tenant,
    status: status?.id === id ? describeReadiness(status) : 'unknown',
    controlPlane,
    labels,
    capacity,
    used: { cpu, memory },
    heldPorts: ports.length === 0 ? NO_PORTS : new Set(ports),
    ...(lacks && { lacks }),
    replicas: replicas.length,
    replicasByDeployment,
  };
}

/** The node with this replica more on it, or less. */
export function withReplica(node: Candidate, { deployment, template }: Replica, count: 1 | -1): Candidate {
  return withReplicas(
    node,
    { deployment, requests: parseRequests(template), hostPorts: listHostPorts(template) },
    count,
  );
}

/** A node whose agent cannot see its containers cannot start any either, whatever its status is called. */
function describeReadiness({ status, reason, unobservedSince }: NodeStatus): Candidate['status'] {
  if (reason === 'record_unusable') return 'unusable';
  return status === 'ready' && unobservedSince !== undefined ? 'unready' : status;
}

/** The replicas on a node. A replica counts until its record is deleted: until then its container may exist. */
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
