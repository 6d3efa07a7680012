import type { Deployment, StoredDeployment } from '../../crds/deployment/index.js';
import { formatAmount, parseCpu, parseMemory } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { parseJobOwner, type Replica } from '../../crds/replica/index.js';
import type { Warning } from '../../crds/rule/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { mergeQuotas, type QuotaKind, type TenantQuotas } from '../../crds/kinds/index.js';
import { countUnended } from '../../pkg/fleet/index.js';
import { type Cache, type Guard, value } from '../../pkg/store/index.js';
import type { CachedEnv } from '../write/write.js';
import type { QuotaEnv } from './env.js';
import { countWanted, warnScaled } from './scaling.js';

/** What a tenant may have, as far as that is limited. */
export function readQuotas({ cache, placementPolicy }: CachedEnv<QuotaEnv>, tenant: string): TenantQuotas {
  const record = cache.get(keys.tenant(tenant));
  return mergeQuotas(placementPolicy.quotas, record && value<StoredTenant>(record).quotas);
}

/** Warns of the quotas that a deployment exceeds. It is stored all the same; the replicas above the quota wait. */
export function warnAboveQuota(
  env: CachedEnv<QuotaEnv>,
  tenant: string,
  spec: Deployment,
  wanted: number,
): readonly Warning[] {
  const limits = readQuotas(env, tenant);
  const job = parseJobOwner(spec.name);
  const counted = env.usage.of(tenant);
  const mayExceed = job !== undefined && counted.jobs >= (limits.jobs ?? Infinity);
  const used = mayExceed ? { ...counted, jobs: countUnended(env.cache, tenant) } : counted;
  const isRunByOthers = job !== undefined && wanted === 0; // of a schedule, its runs are counted
  const more = wanted === 0 ? 0 : Math.max(0, wanted - countPlaced(env.cache, tenant, spec.name));
  const warnings: Warning[] = [];
  const add = (kind: QuotaKind, field: string, amount: number) => {
    const limit = limits[kind];
    if (limit === undefined || amount === 0 || used[kind] + amount <= limit) return;
    warnings.push({ code: 'quota_reached', field, message: describeReached(kind, limit, used[kind]) });
  };
  const kind = job === undefined ? 'deployments' : 'jobs';
  const toKey = () => (job === undefined ? keys.deployment(tenant, spec.name) : keys.job(tenant, job));
  const isNew = limits[kind] !== undefined && env.cache.get(toKey()) === undefined;
  add(kind, 'name', isNew && !isRunByOthers ? 1 : 0);
  if (more === 0) return warnings;
  add('containers', 'replicas', more);
  add('cpu', 'resources.cpu', more * (parseCpu(spec.resources?.cpu ?? '') ?? 0));
  add('memory', 'resources.memory', more * (parseMemory(spec.resources?.memory ?? '') ?? 0));
  return warnings;
}

/** `the quota is 1 job and 1 job is used`, `2 jobs are used`. */
function describeReached(kind: QuotaKind, limit: number, used: number): string {
  const isMany = kind !== 'cpu' && kind !== 'memory' && used !== 1;
  const amounts = `the quota is ${formatAmount(kind, limit)} and ${formatAmount(kind, used)} ${isMany ? 'are' : 'is'} used`;
  return `${amounts}; what exceeds it waits until there is room, or until the platform raises the quota`;
}

/** Warns of what becomes of the replicas that a deployment asks for: by its scaling policy, and by quotas. */
export function warnOfReplicas(
  env: CachedEnv<QuotaEnv>,
  tenant: string,
  spec: Deployment,
  stored: StoredDeployment | undefined,
): readonly Warning[] {
  const wanted = countWanted(env.cache, spec, stored);
  return [...warnScaled(env.cache, spec, stored), ...warnAboveQuota(env, tenant, spec, wanted)];
}

function countPlaced(cache: Cache, tenant: string, name: string): number {
  const replicas = cache.list(ranges.replicasOf(tenant, name)).map(entry => value<Replica>(entry));
  return replicas.filter(({ nodeId, retiringSince }) => nodeId !== undefined && !retiringSince).length;
}

/** The kinds of which a tenant may not create more than its quota. */
export type CountedKind = 'nodes' | 'backups' | 'networks' | 'volumes';

/** The conflict keys of new objects of a tenant. Volumes have one without a quota too: their names are taken by it. */
export function listCountConflictKeys(env: QuotaEnv, tenant: string, kind: CountedKind): readonly string[] {
  const { [kind]: count, backupBytes } = readQuotas(env, tenant);
  const isLimited = count !== undefined || (kind === 'backups' && backupBytes !== undefined) || kind === 'volumes';
  return isLimited ? [keys.conflict(tenant, kind)] : [];
}

/** The limit of a tenant that may have no object more of a kind; undefined for one that may. */
export function findCountReached(env: CachedEnv<QuotaEnv>, tenant: string, kind: CountedKind): number | undefined {
  const limit = readQuotas(env, tenant)[kind];
  return limit === undefined || env.usage.of(tenant)[kind] < limit ? undefined : limit;
}

/** The guard that fails when the quotas of a tenant have changed since. */
export function guardQuotas(cache: Pick<Cache, 'get'>, tenant: string): Guard {
  const key = keys.tenant(tenant);
  return { key, at: cache.get(key)?.revision ?? 0 };
}

/** The limit of a tenant that may not have so many bytes more. */
export function findBytesReached(
  env: CachedEnv<QuotaEnv>,
  tenant: string,
  kind: 'backupBytes' | 'volumeBytes',
  bytes: number,
): number | undefined {
  const limit = readQuotas(env, tenant)[kind];
  return limit === undefined || env.usage.of(tenant)[kind] + bytes <= limit ? undefined : limit;
}
