import type { Deployment, StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { defaultRegions, type Regions } from '../../crds/residency/index.js';
import { type StoredTenant } from '../../crds/tenant/index.js';
import { defaultQuotas, mergeQuotas, type TenantQuotas } from '../../crds/kinds/index.js';
import { parseQuotaSettings, parseRegionSettings, type Settings } from '../config/index.js';
import {
  type Amounts,
  type AntiAffinityTerm,
  explainNodes,
  type Explanation,
  filters,
  type FleetTotals,
  NodeFleet,
  type PlacementResult,
  type QuotaUse,
  type ResidencyRule,
  type Workload,
} from '../placement/index.js';
import { type Cache, value } from '../store/index.js';
import { AVOIDERS, listHostPorts, parseRequests, sumRequests, toCandidate } from './candidates.js';

/** What the operator has settled about placement. */
export interface PlacementPolicy {
  readonly regions: Regions;
  /** Of tenants whose own record sets none. */
  readonly quotas: TenantQuotas;
}

/** The policy of the default settings. */
export const defaultPolicy: PlacementPolicy = {
  regions: { enforced: true, declared: defaultRegions },
  quotas: defaultQuotas,
};

/** The policy that the settings declare. */
export function toPlacementPolicy(settings: Settings): PlacementPolicy {
  return { regions: parseRegionSettings(settings), quotas: parseQuotaSettings(settings) };
}

/** What a workload is read from, beside the deployment itself. */
export interface PlacementSources {
  readonly cache: Cache;
  readonly policy: PlacementPolicy;
}

/** What one replica of a deployment asks of a node. `totals` is what the tenant has running. */
export function toWorkload(
  spec: Deployment,
  tenant: string,
  { cache, policy }: PlacementSources,
  totals: FleetTotals,
): Workload {
  const residency = toResidencyRule(spec, policy.regions);
  const record = tenantOf(tenant, cache);
  const requests = parseRequests(spec);
  const limits = mergeQuotas(policy.quotas, record?.quotas);
  return {
    tenant,
    platform: record?.platform ?? false,
    deployment: spec.name,
    ...(spec.nodeId !== undefined && { namedNode: spec.nodeId }),
    ...(residency && { residency }),
    constraints: spec.placement?.constraints ?? [],
    antiAffinity: [...ownWishes(spec), ...wishesOfOthers(spec, tenant, cache)],
    spreadOver: spec.placement?.antiAffinity?.topologyKey ?? 'node',
    requests,
    hostPorts: listHostPorts(spec),
    quotas: [...quotasOf(limits, requests, totals), ...surplusOf(spec, tenant, cache, limits)],
  };
}

/** The residency that a deployment asks for, if it asks for any. */
export function toResidencyRule({ placement }: Deployment, regions: Regions): ResidencyRule | undefined {
  const { country, region, blockedCountries } = placement?.residency ?? {};
  const asks = country !== undefined || region !== undefined || (blockedCountries?.length ?? 0) > 0;
  return placement?.residency && asks ? { asked: placement.residency, regions } : undefined;
}

function ownWishes({ name, placement }: Deployment): readonly AntiAffinityTerm[] {
  if (!placement?.antiAffinity) return [];
  const { self, deployments, topologyKey } = placement.antiAffinity;
  return [...(self ? [name] : []), ...deployments].map(deployment => ({ deployment, topologyKey, own: true }));
}

/** Who keeps apart from this one is kept apart from it, whichever of the two came first. */
function wishesOfOthers({ name }: Deployment, tenant: string, cache: Cache): readonly AntiAffinityTerm[] {
  return cache.by(AVOIDERS, `${tenant}/${name}`).flatMap(entry => {
    const { name: deployment, placement } = value<StoredDeployment>(entry);
    const topologyKey = placement?.antiAffinity?.topologyKey ?? 'node';
    return deployment === name ? [] : [{ deployment, topologyKey, own: false }];
  });
}

function quotasOf(limits: TenantQuotas, requests: Partial<Amounts>, totals: FleetTotals): readonly QuotaUse[] {
  const all: readonly (Omit<QuotaUse, 'limit'> & { readonly limit: number | undefined })[] = [
    { kind: 'containers', limit: limits.containers, used: totals.replicas, asked: 1 },
    { kind: 'cpu', limit: limits.cpu, used: totals.cpu, asked: requests.cpu ?? 0 },
    { kind: 'memory', limit: limits.memory, used: totals.memory, asked: requests.memory ?? 0 },
  ];
  return all.flatMap(use => (use.limit === undefined ? [] : [{ ...use, limit: use.limit }]));
}

/** A deployment beyond as many as the tenant may have starts nothing new. The older ones come first. */
function surplusOf(
  { name }: Deployment,
  tenant: string,
  cache: Cache,
  { deployments: limit }: TenantQuotas,
): readonly QuotaUse[] {
  const all = cache.list(ranges.of(ranges.deployments, tenant));
  if (limit === undefined || all.length < limit) return [];
  const made = cache.get(keys.deployment(tenant, name))?.created ?? Infinity;
  const older = all.filter(({ created }) => created < made).length;
  return older < limit ? [] : [{ kind: 'deployments', limit, used: older, asked: 1 }];
}

function tenantOf(tenant: string, cache: Cache): StoredTenant | undefined {
  const entry = cache.get(keys.tenant(tenant));
  return entry && value<StoredTenant>(entry);
}

/** Why the replicas of a deployment are or would be where they are, by every node of its tenant. */
export function explainDeployment(spec: Deployment, tenant: string, reading: PlacementSources): Explanation {
  const candidates = candidatesOf(tenant, reading);
  const workload = toWorkload(spec, tenant, reading, totalsOf(tenant, reading));
  return explainNodes(workload, candidates, filters);
}

/** Where `count` replicas more would go, if they were to be placed now. Nothing is kept of it. */
export function previewPlacement(
  spec: Deployment,
  tenant: string,
  count: number,
  reading: PlacementSources,
): PlacementResult {
  const fleet = new NodeFleet(candidatesOf(tenant, reading));
  return fleet.place(count, toWorkload(spec, tenant, reading, totalsOf(tenant, reading)));
}

function candidatesOf(tenant: string, { cache }: PlacementSources) {
  return cache.list(ranges.of(ranges.nodes, tenant)).map(entry => toCandidate(value<StoredNode>(entry), cache));
}

/** As quotas count it: what has been given a node, be it a node that is no more. */
function totalsOf(tenant: string, { cache }: PlacementSources): FleetTotals {
  const replicas = cache.list(ranges.of(ranges.replicas, tenant)).map(entry => value<Replica>(entry));
  return sumRequests(replicas.filter(({ nodeId }) => nodeId !== undefined));
}
