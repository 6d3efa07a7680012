import { formatCount } from '../../../crds/grammar/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { Kind } from '../../../crds/kind/index.js';
import { kinds } from '../../../crds/kinds/index.js';
import type { NodeNameRecord } from '../../../crds/node/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import type { StoredTenant, StoredToken } from '../../../crds/tenant/index.js';
import type { Settings } from '../../../pkg/config/index.js';
import type { SecretStore } from '../../../pkg/secrets/index.js';
import { type Cache, type Entry, value } from '../../../pkg/store/index.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import type { ApiCall, RouteResult } from '../../http/route.js';
import { write, type WriteEnv, type Writing } from '../../write/write.js';

/** What keeps a tenant from being deleted. */
interface TenantRemains {
  /** The names of what it has, by kind. */
  readonly byKind: Readonly<Record<string, readonly string[]>>;
  /** Namespaces of the secrets store that the platform may not list. */
  readonly unlisted: readonly string[];
}

/** What tenants are deleted with. */
export interface RemovalEnv extends WriteEnv {
  readonly secrets: Pick<SecretStore, 'list'>;
  readonly settings: Pick<Settings, 'secretsNamespaces'>;
}

const NAMES_MAX = 5;
const HISTORY_BATCH = 100;

/**
 * Deletes a tenant that has nothing left.
 *
 * The record moves aside first: from then on nothing can be created for the tenant, because every create demands that it exists.
 * Only then is it certain what is left. When a create came first, the record moves back and the request is refused. A server that
 * dies in between leaves the tenant aside, and the same request completes it.
 */
export async function removeTenant(env: RemovalEnv, call: ApiCall): Promise<RouteResult> {
  const moved = await write(env, call, movement);
  return call.isDryRun || moved instanceof RequestRejection ? moved : write(env, call, ending);
}

const movement: Writing<RemovalEnv, TenantRemains, StoredTenant> = {
  name: 'tenant',
  find: ({ cache }, { params }) => {
    const id = params['tenant']!.toLowerCase();
    const known = cache.get(keys.tenantRemoval(id)) ?? cache.get(keys.tenant(id));
    return known ?? rejectRequest('resource_not_found', 'tenant', id);
  },
  facts: (env, { params }) => listRemains(env, params['tenant']!.toLowerCase()),
  judge: ({ stored, facts: remains }) => {
    const tenant = value<StoredTenant>(stored!);
    if (tenant.platform) return rejectRequest('tenant_of_platform', 'tenant', tenant.id);
    const isAside = stored!.key === keys.tenantRemoval(tenant.id);
    return (isAside ? undefined : rejectRemains(remains)) ?? tenant;
  },
  plan: ({ stored }, before) => {
    const aside = keys.tenantRemoval(before.id);
    if (stored!.key === aside) return { before };
    return { record: { key: aside, bytes: stored!.bytes }, deletes: [stored!.key], before };
  },
  show: (_env, tenant) => value<StoredTenant>(tenant),
};

/** By now every create that was stored before the record moved is seen. */
const ending: Writing<RemovalEnv, TenantRemains, Entry> = {
  name: 'tenant',
  facts: async (env, { params }) => {
    const id = params['tenant']!.toLowerCase();
    const remains = await listRemains(env, id);
    // Another request was faster, and has removed it or moved it back.
    if (!env.cache.get(keys.tenantRemoval(id)))
      return rejectRemains(remains) ?? rejectRequest('resource_not_found', 'tenant', id);
    if (!rejectRemains(remains)) await removeHistory(env, id);
    return remains;
  },
  judge: ({ call: { params } }, { cache }) => {
    const id = params['tenant']!.toLowerCase();
    return cache.get(keys.tenantRemoval(id)) ?? rejectRequest('resource_not_found', 'tenant', id);
  },
  plan: ({ facts: remains }, aside) => {
    const { id } = value<StoredTenant>(aside);
    const isKept = rejectRemains(remains) !== undefined;
    return {
      puts: isKept ? [{ key: keys.tenant(id), bytes: aside.bytes }] : [],
      deletes: [aside.key],
      guards: [
        { key: aside.key, at: aside.revision },
        { key: keys.tenant(id), at: 0 },
      ],
      shown: aside,
      warnings: warnUnlisted(remains),
    };
  },
  show: (_env, tenant, { facts: remains }) => rejectRemains(remains) ?? value<StoredTenant>(tenant),
};

/** Shows what keeps a tenant from being deleted, so that it can be deleted first. */
export async function showRemains(env: RemovalEnv, { params }: ApiCall): Promise<RouteResult> {
  const id = params['tenant']!.toLowerCase();
  await env.cache.barrier();
  const known = env.cache.get(keys.tenant(id)) ?? env.cache.get(keys.tenantRemoval(id));
  if (!known) return rejectRequest('resource_not_found', 'tenant', id);
  const remains = await listRemains(env, id);
  return replyJson(200, { tenant: id, remains: remains.byKind, warnings: warnUnlisted(remains) });
}

/** The ranges of what a tenant has: what can be deleted, and keeps it from being deleted, and what goes with it. Events expire. */
export function listTenantRanges(known: readonly Kind[] = kinds) {
  const own = known.filter(({ scope, singular }) => scope === 'tenant' && !['token', 'event'].includes(singular));
  const pick = (isDeleted: boolean) =>
    own.flatMap(({ singular, range, operations }) =>
      range !== undefined && operations.includes('delete') === isDeleted ? [[singular, range] as const] : [],
    );
  return { deleted: pick(true), history: [...pick(false).map(([, range]) => range), ranges.rotationProgress] };
}

/** History that cannot be deleted one by one goes with the tenant: what a deployment asked for, and how rotations went. */
async function removeHistory({ store, committer }: RemovalEnv, id: string): Promise<void> {
  for (const range of listTenantRanges().history) {
    const prefix = ranges.of(range, id);
    for (;;) {
      const { entries } = await store.page(prefix, { limit: HISTORY_BATCH });
      if (entries.length === 0) break;
      await committer.purge(entries);
    }
  }
}

function rejectRemains({ byKind }: TenantRemains): RequestRejection | undefined {
  const remains = Object.entries(byKind).filter(([, names]) => names.length > 0);
  if (remains.length === 0) return undefined;
  const text = remains.map(([kind, names]) => {
    const shown = names.slice(0, NAMES_MAX).join(', ');
    return `${formatCount(names.length, kind)} (${shown}${names.length > NAMES_MAX ? ', …' : ''})`;
  });
  const all = Object.keys(byKind).map(kind => `${kind}s`);
  const plurals = `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
  return rejectRequest('tenant_in_use', 'tenant', text.join('; '), { kinds: plurals });
}

function warnUnlisted({ unlisted }: TenantRemains): readonly Warning[] {
  if (unlisted.length === 0) return [];
  const message = `the policy of the secrets store does not let the platform list ${unlisted.join(', ')}: look there for secrets of the tenant yourself`;
  return [{ code: 'secrets_not_listed', field: 'tenant', message }];
}

/** Everything that a tenant can have and that does not go by itself. */
async function listRemains(env: RemovalEnv, id: string): Promise<TenantRemains> {
  const { cache } = env;
  const namesBelow = (range: string) => {
    const prefix = ranges.of(range, id);
    return cache.list(prefix).map(({ key }) => key.slice(prefix.length));
  };
  const tokens = cache.list(ranges.tokens).map(entry => value<StoredToken>(entry));
  const { paths, unlisted } = await listSecretPaths(env, id);
  const byKind = {
    ...Object.fromEntries(listTenantRanges().deleted.map(([kind, range]) => [kind, namesBelow(range)])),
    claim: listSecondClaims(cache, id),
    secret: [...new Set([...namesBelow(ranges.secrets), ...paths])].sort(),
    token: tokens.filter(({ tenant, kind }) => tenant === id && kind === 'tenant').map(token => token.id),
  };
  return { byKind, unlisted };
}

/** The machines of others that the tenant has a claim to. */
function listSecondClaims(cache: Cache, id: string): readonly string[] {
  return cache
    .list(ranges.nodeNames)
    .filter(entry => value<NodeNameRecord>(entry).claims.some(({ tenant }) => tenant === id))
    .map(({ key }) => key.slice(ranges.nodeNames.length))
    .filter(name => !cache.get(keys.node(id, name)));
}

/** The credentials in the secrets store, which may be another one than etcd. */
async function listSecretPaths({ secrets, settings }: RemovalEnv, tenant: string) {
  const paths: string[] = [];
  const unlisted: string[] = [];
  for (const namespace of settings.secretsNamespaces) {
    const listing = await secrets.list({ tenant, namespace });
    if (listing.kind === 'found') paths.push(...listing.labels.map(label => `${namespace}/${label}`));
    else unlisted.push(namespace);
  }
  return { paths, unlisted };
}
