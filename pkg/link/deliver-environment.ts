import type { Delivery, DeliveryUse, EnvironmentRequest } from '../../crds/delivery/index.js';
import { keys, splitKey } from '../../crds/keys/index.js';
import type { PlainCode } from '../../crds/rejections/index.js';
import type { Replica, ResolvedSecrets } from '../../crds/replica/index.js';
import { failpoint } from '../failpoint/index.js';
import {
  collectReferences,
  explainUnresolved,
  readEnvironment,
  type Secret,
  type SecretVersions,
  type UnresolvedExplanation,
} from '../secrets/index.js';
import { encode, type Entry, value } from '../store/index.js';
import { type DeliveryEnv, type DispatcherEnv, readReplica, REPLICAS_BY_UID } from './dispatcher-env.js';
import type { NodeIdentity } from './agent-link.js';
import { TICKET_MS } from './tickets.js';

export type EnvironmentResult =
  | { readonly kind: 'ready'; readonly environment: ReadonlyMap<string, Secret> }
  | { readonly kind: 'not_own' | 'ticket_invalid' | 'ticket_used' }
  | ({ readonly kind: 'unresolved' } & UnresolvedExplanation);

/** A use is remembered for longer than its ticket is valid, because the clocks of servers differ. */
const USE_RETENTION_MS = 2 * TICKET_MS;

/** How often one replica may be given its variables in that time; far above what a healthy agent needs. */
const USES_MAX = 64;

/** A replica that is assigned to the node now and whose secrets are resolved. */
interface DeliverableReplica {
  readonly entry: Entry;
  readonly replica: Replica;
  readonly resolved: ResolvedSecrets;
  /** The record of its deliveries. */
  readonly key: string;
}

/**
 * Delivers the secret variables of one container to the node that is about to create it: once per ticket, in exactly the
 * versions that the replica was stamped with, and only after the delivery has been recorded.
 */
export async function deliverEnvironment(
  env: DispatcherEnv & { readonly delivery: DeliveryEnv },
  node: NodeIdentity,
  request: EnvironmentRequest,
): Promise<EnvironmentResult> {
  await env.cache.barrier(); // a replica that was unassigned a moment ago gets nothing
  const due = findDeliverable(env, node, request);
  const about = { tenant: node.tenant, node: node.name, replica: request.replica };
  if (!due) {
    env.log.warn('secrets refused: the replica is not assigned to this node', about);
    return { kind: 'not_own' };
  }
  const ticket = env.delivery.tickets.check(request.ticket, node, due.replica);
  if (ticket === undefined) return { kind: 'ticket_invalid' };
  const held = env.cache.get(due.key);
  if (held && wasUsed(held, ticket)) return refuseRepeat(env, node, due.replica, held);
  if (held && recentUses(held, env).length >= USES_MAX) {
    env.log.warn('secrets refused: requested too often for one replica', about);
    return { kind: 'ticket_invalid' };
  }

  let isOurs = true;
  const audit = async (versions: SecretVersions) => {
    failpoint('delivery.redeeming');
    isOurs = await recordUse(env, due, held, { ticket, versions });
    failpoint('delivery.redeemed');
    if (isOurs) env.log.info('secrets delivered', { ...about, deployment: due.replica.deployment, code: ticket });
  };
  const references = collectReferences(node.tenant, due.replica.template);
  const delivery = await readEnvironment(env.delivery.secrets, references, { versions: due.resolved.versions, audit });
  if (delivery.kind !== 'ready') return { kind: 'unresolved', ...explainUnresolved(delivery) };
  if (isOurs) return { kind: 'ready', environment: delivery.environment };

  // Another request won: it used this ticket, or the replica has changed.
  await env.cache.barrier();
  const used = env.cache.get(due.key);
  if (used && wasUsed(used, ticket)) return refuseRepeat(env, node, due.replica, used);
  return { kind: 'ticket_invalid' };
}

function findDeliverable(
  { cache }: DispatcherEnv,
  node: NodeIdentity,
  { replica: uid, generation }: EnvironmentRequest,
): DeliverableReplica | undefined {
  const [entry] = cache.by(REPLICAS_BY_UID, uid);
  const replica = entry && readReplica(entry);
  if (!entry || !replica?.resolved || replica.retiringSince !== undefined) return undefined;
  const isOwn = replica.tenant === node.tenant && replica.nodeId === node.id && replica.generation === generation;
  if (!isOwn) return undefined;
  return { entry, replica, resolved: replica.resolved, key: keys.delivery(node.tenant, replica.deployment, uid) };
}

function wasUsed(held: Entry, ticket: string): boolean {
  return value<Delivery>(held).uses.some(use => use.ticket === ticket);
}

/** Uses whose tickets may still be valid. */
function recentUses(held: Entry, { clock }: DispatcherEnv): readonly DeliveryUse[] {
  return value<Delivery>(held).uses.filter(({ at }) => clock.now() - Date.parse(at) < USE_RETENTION_MS);
}

/** Records the use of the ticket, guarded by the replica as it was read. False when either has changed. */
async function recordUse(
  env: DispatcherEnv,
  { entry, replica, key }: DeliverableReplica,
  held: Entry | undefined,
  use: Omit<DeliveryUse, 'at'>,
): Promise<boolean> {
  const before = held && value<Delivery>(held);
  const uses = [...(held ? recentUses(held, env) : []), { ...use, at: new Date(env.clock.now()).toISOString() }];
  const record: Delivery = { ...before, replica: replica.uid, nodeId: replica.nodeId!, uses };
  const verdict = await env.store.commit({
    guards: [
      { key, at: held?.revision ?? 0 },
      { key: entry.key, at: entry.revision },
    ],
    puts: [{ key, bytes: encode(record) }],
    deletes: [],
  });
  return verdict.stored;
}

/** Refuses a ticket that was used before. Nothing is delivered, and one event per replica says so. */
async function refuseRepeat(
  env: DispatcherEnv,
  node: NodeIdentity,
  replica: Replica,
  held: Entry,
): Promise<EnvironmentResult> {
  const about = { tenant: node.tenant, node: node.name, replica: replica.uid };
  env.log.warn('secrets refused: the delivery ticket was already used', about);
  const record = value<Delivery>(held);
  if (record.repeated !== undefined) return { kind: 'ticket_used' };
  const event = await env.events.put({
    type: 'secret.delivery_repeated',
    tenant: node.tenant,
    subject: { kind: 'Node', name: node.name, id: node.id },
    severity: 'warning',
    reason: 'delivery_ticket_used',
    message: `The secrets of a replica of ${replica.deployment} were requested twice with the same ticket; the second request got nothing. If no agent on ${node.name} restarted, check the node and rotate the secrets.`,
    data: { deployment: replica.deployment, replica: replica.uid },
  });
  const marked: Delivery = { ...record, repeated: splitKey(event.key)[1]! };
  // When another server has marked it meanwhile, that server writes the event.
  await env.store.commit({
    guards: [{ key: held.key, at: held.revision }],
    puts: [{ key: held.key, bytes: encode(marked) }, event],
    deletes: [],
  });
  return { kind: 'ticket_used' };
}

const REFUSALS = {
  not_own: { status: 403, code: 'environment_not_own' },
  ticket_invalid: { status: 409, code: 'delivery_ticket_invalid' },
  ticket_used: { status: 409, code: 'delivery_ticket_used' },
} as const;

/** The status and code that an agent receives instead of secrets. */
export function toEnvironmentRefusal(answer: Exclude<EnvironmentResult, { readonly kind: 'ready' }>): {
  readonly status: number;
  readonly code: PlainCode;
} {
  if (answer.kind !== 'unresolved') return REFUSALS[answer.kind];
  return answer.reason === 'secret_store_unavailable'
    ? { status: 503, code: 'secret_store_unavailable' }
    : { status: 409, code: 'secrets_unresolved' };
}
