import type { Deployment, StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Regions } from '../../crds/residency/index.js';
import { mergeQuotas, type StoredTenant, type TenantQuotas } from '../../crds/tenant/index.js';
import type { Amounts, Apart, QuotaUse, ResidencyRule, Totals, Workload } from '../placement/index.js';
import { type Cache, value } from '../store/index.js';
import { AVOIDERS } from './indexes.js';
import type { PlacementPolicy } from './policy.js';
import { hostPortsOf, requestsOf } from './requests.js';

/** What a workload is read from, beside the deployment itself. */
export interface PlacementReading {
  readonly cache: Cache;
  readonly policy: PlacementPolicy;
}

/** What one replica of a deployment asks of a node. `totals` is what the tenant has running. */
export function workloadOf(
  spec: Deployment,
  tenant: string,
  { cache, policy }: PlacementReading,
  totals: Totals,
): Workload {
  const residency = residencyRuleOf(spec, policy.regions);
  const record = tenantOf(tenant, cache);
  const requests = requestsOf(spec);
  const limits = mergeQuotas(policy.quotas, record?.quotas);
  return {
    tenant,
    platform: record?.platform ?? false,
    deployment: spec.name,
    ...(spec.nodeId !== undefined && { namedNode: spec.nodeId }),
    ...(residency && { residency }),
    constraints: spec.placement?.constraints ?? [],
    apart: [...ownWishes(spec), ...wishesOfOthers(spec, tenant, cache)],
    spreadOver: spec.placement?.antiAffinity?.topologyKey ?? 'node',
    requests,
    hostPorts: hostPortsOf(spec),
    quotas: [...quotasOf(limits, requests, totals), ...surplusOf(spec, tenant, cache, limits)],
  };
}

/** The residency that a deployment asks for, if it asks for any. */
export function residencyRuleOf({ placement }: Deployment, regions: Regions): ResidencyRule | undefined {
  const { country, region, blockedCountries } = placement?.residency ?? {};
  const asks = country !== undefined || region !== undefined || (blockedCountries?.length ?? 0) > 0;
  return placement?.residency && asks ? { asked: placement.residency, regions } : undefined;
}

function ownWishes({ name, placement }: Deployment): readonly Apart[] {
  if (!placement?.antiAffinity) return [];
  const { self, deployments, topologyKey } = placement.antiAffinity;
  return [...(self ? [name] : []), ...deployments].map(deployment => ({ deployment, topologyKey, own: true }));
}

/** Who keeps apart from this one is kept apart from it, whichever of the two came first. */
function wishesOfOthers({ name }: Deployment, tenant: string, cache: Cache): readonly Apart[] {
  return cache.by(AVOIDERS, `${tenant}/${name}`).flatMap(entry => {
    const { name: deployment, placement } = value<StoredDeployment>(entry);
    const topologyKey = placement?.antiAffinity?.topologyKey ?? 'node';
    return deployment === name ? [] : [{ deployment, topologyKey, own: false }];
  });
}

function quotasOf(limits: TenantQuotas, requests: Partial<Amounts>, totals: Totals): readonly QuotaUse[] {
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
