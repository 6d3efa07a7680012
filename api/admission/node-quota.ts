import { keys } from '../../crds/keys/index.js';
import { quotasOf, type QuotaEnv } from './quota-warnings.js';

/** The limit of a tenant that may have no more nodes. Undefined while it may. */
export function nodesReached(env: QuotaEnv, tenant: string): number | undefined {
  const { nodes: limit } = quotasOf(env, tenant);
  return limit === undefined || env.usage.of(tenant).nodes < limit ? undefined : limit;
}

/** New nodes that are counted come one after the other, so that many at once do not pass the tenant's quota. */
export function nodeTurns(env: QuotaEnv, tenant: string): readonly string[] {
  return quotasOf(env, tenant).nodes === undefined ? [] : [keys.turn(tenant, 'nodes')];
}
