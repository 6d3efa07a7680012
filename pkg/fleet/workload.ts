import { type Deployment, isNumericUser, type StoredDeployment } from '../../crds/deployment/index.js';
import { isDnsLabel, isTypedId } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { defaultQuotas, mergeQuotas, type TenantQuotas } from '../../crds/kinds/index.js';
import type { StoredNetwork } from '../../crds/network/index.js';
import { isHeldVolume, type StoredVolume, type VolumeStatus } from '../../crds/volume/index.js';
import type { NodeFeature, StoredNode } from '../../crds/node/index.js';
import { parseJobOwner, type Replica } from '../../crds/replica/index.js';
import { defaultRegions, type Regions } from '../../crds/residency/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { parseQuotaSettings, parseRegionSettings, type Settings } from '../config/index.js';
import {
  type AntiAffinityTerm,
  type Candidate,
  explainNodes,
  type Explanation,
  type FleetTotals,
  type NetworkPlace,
  type VolumePlace,
  NodeFleet,
  type OwnReplicas,
  type PlacementResult,
  type QuotaUse,
  toResidencyRule,
  type Workload,
} from '../placement/index.js';
import type { Holder } from '../../crds/scheduling/index.js';
import { type Cache, listValues, readValue, value } from '../store/index.js';
import { AVOIDED_BY, findNode, listHostPorts, parseRequests, sumRequests, toCandidate } from './candidates.js';
import { countUnended } from './jobs.js';
import { groupByNode, listObstructingReplicas, listQuotaUsers } from './holders.js';

/** The operator's settings for placement. */
export interface PlacementPolicy {
  readonly regions: Regions;
  /** The quotas of tenants whose own record sets none. */
  readonly quotas: TenantQuotas;
}

export const defaultPolicy: PlacementPolicy = {
  regions: { enforced: true, declared: defaultRegions },
  quotas: defaultQuotas,
};

export function toPlacementPolicy(settings: Settings): PlacementPolicy {
  return { regions: parseRegionSettings(settings), quotas: parseQuotaSettings(settings) };
}

/** What a workload is read from, beside the deployment itself. */
export interface PlacementSources {
  readonly cache: Cache;
  readonly policy: PlacementPolicy;
}

/** What one replica of a deployment requires of a node. `totals` is what counts against the tenant's quotas already. */
export function toWorkload(
  spec: Deployment,
  tenant: string,
  { cache, policy }: PlacementSources,
  totals: FleetTotals,
): Workload {
  const residency = toResidencyRule(spec.placement?.residency, policy.regions);
  const record = readValue<StoredTenant>(cache, keys.tenant(tenant));
  const requests = parseRequests(spec);
  const quotas = mergeQuotas(policy.quotas, record?.quotas);
  const { containers, cpu, memory } = quotas;
  return {
    tenant,
    platform: record?.platform ?? false,
    deployment: spec.name,
    ...(spec.nodeId !== undefined && nameNode(spec.nodeId, tenant, cache)),
    networks: (spec.networks ?? []).map(name => findNetwork(name, tenant, cache)),
    volumes: (spec.volumes ?? []).map(({ volumeId }) => findVolume(volumeId, tenant, cache)),
    ...(residency && { residency }),
    constraints: spec.placement?.constraints ?? [],
    antiAffinity: [...listOwnTerms(spec), ...listTermsOfOthers(spec, tenant, cache)],
    spreadOver: spec.placement?.antiAffinity?.topologyKey ?? 'node',
    requests,
    hostPorts: listHostPorts(spec),
    needs: listNeeds(spec),
    quotas: [
      ...toQuotaUse('containers', containers, totals.replicas, 1),
      ...toQuotaUse('cpu', cpu, totals.cpu, requests.cpu ?? 0),
      ...toQuotaUse('memory', memory, totals.memory, requests.memory ?? 0),
      ...toOwnerUse(spec, tenant, cache, quotas),
    ],
  };
}

/** A deployment as a replica of another template of it is placed: with the node, networks, volumes, ports and requests of that. */
export function withForm<T extends Deployment>(
  deployment: T,
  { template, namedNode }: Pick<Replica, 'template' | 'namedNode'>,
): T {
  const { nodeId: _, networks: __, ports: ___, resources: ____, volumes: _____, ...others } = deployment;
  const { user: ______, preStop: _______, ...rest } = others;
  const { networks, ports, resources, volumes, user, preStop } = template;
  return {
    ...rest,
    ...(namedNode !== undefined && { nodeId: namedNode }),
    ...(networks && { networks }),
    ...(volumes && { volumes }),
    ...(ports && { ports }),
    ...(resources && { resources }),
    ...(user !== undefined && { user }),
    ...(preStop && { preStop }),
  } as T;
}

/** What the engine of a node must be able to do. Volumes are kept by a node that can, and their workloads with them. */
function listNeeds(spec: Deployment): readonly NodeFeature[] {
  const needs: Readonly<Partial<Record<NodeFeature, boolean>>> = {
    networks: (spec.networks ?? []).length > 0,
    host_ports: listHostPorts(spec).length > 0,
    named_users: spec.user !== undefined && !isNumericUser(spec.user),
    pid_limits: spec.resources?.limits?.pids !== undefined,
    pre_stop: spec.preStop !== undefined,
  };
  return (Object.keys(needs) as NodeFeature[]).filter(need => needs[need]);
}

/** A node that is removed while a deployment names it keeps its id: there is no other word for it. */
function nameNode(id: string, tenant: string, cache: Cache): Pick<Workload, 'namedNode' | 'namedNodeName'> {
  return { namedNode: id, namedNodeName: findNode(id, tenant, cache)?.name ?? `${id}, which is not enrolled` };
}

/** Where a network is. A record of another release may hold any name. */
function findNetwork(name: string, tenant: string, cache: Cache): NetworkPlace {
  const stored = isDnsLabel(name) ? readValue<StoredNetwork>(cache, keys.network(tenant, name)) : undefined;
  if (!stored) return { name };
  const node = findNode(stored.nodeId, tenant, cache)?.name;
  return { name, nodeId: stored.nodeId, ...(node !== undefined && { node }) };
}

/** Where the bytes of a volume are. A record of another release may hold any id. */
function findVolume(id: string, tenant: string, cache: Cache): VolumePlace {
  const stored = isTypedId('vol', id) ? readValue<StoredVolume>(cache, keys.volume(tenant, id)) : undefined;
  if (!stored) return { id };
  const status = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, id));
  // While a copy takes over nothing is started: its bytes are not those of the volume yet.
  if (status?.phase === 'Promoting') return { id, name: stored.name, isPromoting: true };
  if (status?.finalFor !== undefined) return { id, name: stored.name, isMoving: true };
  const nodeId = isHeldVolume(status) ? undefined : status?.primaryNode;
  const node = nodeId === undefined ? undefined : findNode(nodeId, tenant, cache)?.name;
  const isRefused = stored.type === 'bind' && status?.reason === 'volume_refused';
  return {
    id,
    name: stored.name,
    ...(nodeId !== undefined && { nodeId }),
    ...(node !== undefined && { node }),
    ...(isRefused && { refusal: status.message }),
  };
}

function listOwnTerms({ name, placement }: Deployment): readonly AntiAffinityTerm[] {
  if (!placement?.antiAffinity) return [];
  const { self, deployments, topologyKey } = placement.antiAffinity;
  return [...(self ? [name] : []), ...deployments].map(deployment => ({ deployment, topologyKey, own: true }));
}

/** Anti-affinity is symmetric: it holds whichever of the two deployments was created first. */
function listTermsOfOthers({ name }: Deployment, tenant: string, cache: Cache): readonly AntiAffinityTerm[] {
  return cache.by(AVOIDED_BY, `${tenant}/${name}`).flatMap(entry => {
    const { name: deployment, placement } = value<StoredDeployment>(entry);
    const topologyKey = placement?.antiAffinity?.topologyKey ?? 'node';
    return deployment === name ? [] : [{ deployment, topologyKey, own: false }];
  });
}

/** What of the totals counts against the quota of a kind. */
const COUNTED: Readonly<Record<string, keyof FleetTotals>> = { containers: 'replicas', cpu: 'cpu', memory: 'memory' };

/** Whether the tenant's quotas allow no further replica of a workload that was read before the tenant used as much as `totals`. */
export function isQuotaReached({ quotas }: Workload, totals: FleetTotals): boolean {
  return quotas.some(({ kind, used, asked, limit }) => {
    const counted = COUNTED[kind];
    return asked > 0 && (counted === undefined ? used : totals[counted]) + asked > limit;
  });
}

function toQuotaUse(kind: string, limit: number | undefined, used: number, asked: number): readonly QuotaUse[] {
  return limit === undefined ? [] : [{ kind, limit, used, asked }];
}

/** What is beyond the tenant's quota of deployments, or of jobs that have not ended, starts no replicas. The older ones come first. */
function toOwnerUse(
  { name }: Deployment,
  tenant: string,
  cache: Cache,
  { deployments, jobs }: TenantQuotas,
): readonly QuotaUse[] {
  const job = parseJobOwner(name);
  const [kind, limit] = job === undefined ? ['deployments', deployments] : ['jobs', jobs];
  if (limit === undefined) return [];
  const all = cache.list(ranges.of(job === undefined ? ranges.deployments : ranges.jobs, tenant));
  if (all.length < limit) return [];
  const key = job === undefined ? keys.deployment(tenant, name) : keys.job(tenant, job);
  const own = cache.get(key)?.created ?? Infinity;
  const older =
    job === undefined ? all.filter(({ created }) => created < own).length : countUnended(cache, tenant, own);
  return older < limit ? [] : [{ kind, limit, used: older, asked: 1 }];
}

/** Every node of a tenant for a deployment, and who is in the way where one refuses. */
export interface DeploymentExplanation extends Explanation {
  /** Of a node and a filter that refuses it. */
  readonly findHolders: (nodeId: string, filter: string) => readonly Holder[];
}

/** Why each node of the tenant has, or would get, replicas of the deployment, or why not. */
export function explainDeployment(
  spec: Deployment,
  tenant: string,
  sources: PlacementSources,
  own: OwnReplicas = 'stay',
): DeploymentExplanation {
  const { workload, nodes, replicas } = readPlacement(spec, tenant, sources);
  const grouped = groupByNode(nodes, replicas);
  const byId = new Map(nodes.map(node => [node.id, node]));
  const short = workload.quotas.filter(({ used, asked, limit }) => asked > 0 && used + asked > limit);
  const quotaUsers = short.flatMap(({ kind }) => listQuotaUsers(kind, replicas));
  return {
    ...explainNodes(workload, nodes, own),
    findHolders: (nodeId, filter) => {
      const node = byId.get(nodeId);
      if (filter === 'quota') return quotaUsers;
      return node ? listObstructingReplicas(filter, node, workload, grouped) : [];
    },
  };
}

/** Where `count` more replicas would be placed now. Nothing is stored. */
export function previewPlacement(
  spec: Deployment,
  tenant: string,
  count: number,
  sources: PlacementSources,
): PlacementResult {
  const { workload, nodes } = readPlacement(spec, tenant, sources);
  return new NodeFleet(nodes).place(count, workload);
}

function readPlacement(
  spec: Deployment,
  tenant: string,
  sources: PlacementSources,
): { readonly workload: Workload; readonly nodes: readonly Candidate[]; readonly replicas: readonly Replica[] } {
  const { cache } = sources;
  const replicas = listValues<Replica>(cache, ranges.of(ranges.replicas, tenant));
  const totals = sumRequests(replicas.filter(({ nodeId }) => nodeId !== undefined));
  const nodes = listValues<StoredNode>(cache, ranges.of(ranges.nodes, tenant)).map(node => toCandidate(node, cache));
  return { workload: toWorkload(spec, tenant, sources, totals), nodes, replicas };
}
