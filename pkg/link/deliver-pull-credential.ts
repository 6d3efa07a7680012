import type { EnvironmentRequest } from '../../crds/delivery/index.js';
import { asError } from '../fault/index.js';
import { type CredentialLookup, findRegistryHost } from '../registry/index.js';
import { Secret, toRegistryPath } from '../secrets/index.js';
import type { PullCredential } from './agent-link.js';
import { checkTicket, type EnvironmentResult, findAssigned, redeemTicket } from './deliver-environment.js';
import type { DeliveryEnv, DispatcherEnv } from './dispatcher-env.js';
import type { AgentIdentity } from './presence.js';

export type PullCredentialResult = PullCredential | Exclude<EnvironmentResult, { readonly kind: 'ready' }>;

type PullEnv = DispatcherEnv & { readonly delivery: DeliveryEnv };

/**
 * Delivers the tenant's own login for a registry to the node that pulls an image of the tenant from it: once per ticket, for the
 * image of a replica that is assigned to the node now, and only after the delivery has been recorded.
 */
export async function deliverPullCredential(
  env: PullEnv,
  node: AgentIdentity,
  request: EnvironmentRequest,
): Promise<PullCredentialResult> {
  const due = await findAssigned(env, node, request);
  if (!due) {
    const about = { tenant: node.tenant, node: node.name, replica: request.replica };
    env.log.warn('registry login refused: the replica is not assigned to this node', about);
    return { kind: 'not_own' };
  }
  const use = await checkTicket(env, node, due, { ticket: request.ticket, purpose: 'pull' });
  if ('kind' in use) return use;
  const { registries } = env.delivery;
  const host = findRegistryHost(due.replica.template.image, registries?.defaultRegistry ?? '');
  const secret = toRegistryPath(host ?? '');
  const lookup = host === undefined ? NONE : await lookUp(env, node.tenant, host);
  const versions = lookup.kind === 'found' ? { [secret]: lookup.version ?? 0 } : {};
  const redeemed = await redeemTicket(env, node, due, { use, versions });
  if (redeemed !== 'redeemed') return redeemed;
  if (lookup.kind === 'unavailable') {
    const message = 'the secrets store cannot be reached';
    return { kind: 'unresolved', reason: 'secret_store_unavailable', message };
  }
  if (lookup.kind === 'none') return { kind: 'none', secret };
  const { username, password } = lookup.credential;
  return { kind: 'found', username, password: new Secret(password), secret };
}

const NONE: CredentialLookup = { kind: 'none' };

async function lookUp(env: PullEnv, tenant: string, host: string): Promise<CredentialLookup> {
  try {
    const never = new AbortController();
    return (await env.delivery.registries?.credentials.credentialsFor(tenant, host, never.signal)) ?? NONE;
  } catch (thrown) {
    env.log.warn('the login of a tenant for a registry cannot be read: check the secrets store', {
      tenant,
      error: asError(thrown),
    });
    return { kind: 'unavailable' };
  }
}
