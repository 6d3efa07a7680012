import type { Delivery, DeliveryUse, EnvironmentRequest } from '../../crds/delivery/index.js';
import { keys, splitKey } from '../../crds/keys/index.js';
import type { PlainCode } from '../../crds/rejections/index.js';
import { isResolved, type Replica, type ResolvedSecrets } from '../../crds/replica/index.js';
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
import { type AgentIdentity, isHeldByOther, NodeHeldFault } from './presence.js';
import { TICKET_MS, type TicketPurpose } from './tickets.js';

export type EnvironmentResult =
  | { readonly kind: 'ready'; readonly environment: ReadonlyMap<string, Secret> }
  | { readonly kind: 'not_own' | 'ticket_invalid' | 'ticket_used' }
  | ({ readonly kind: 'unresolved' } & UnresolvedExplanation);

/** A use is remembered for longer than its ticket is valid, because the clocks of servers differ. */
const USE_RETENTION_MS = 2 * TICKET_MS;

/** How often one replica may be given its variables or a registry login in that time; far above what a healthy agent needs. */
const USES_MAX = 64;

/** A replica that is assigned to the node now. */
export interface AssignedReplica {
  readonly entry: Entry;
  readonly replica: Replica;
  /** The record of its deliveries. */
  readonly key: string;
}

/** One whose secrets are resolved. */
type DeliverableReplica = AssignedReplica & { readonly resolved: ResolvedSecrets };

/**
 * Delivers the secret variables of one container to the node that is about to create it: once per ticket, in exactly the
 * versions that the replica was stamped with, and only after the delivery has been recorded.
 */
export async function deliverEnvironment(
  env: DispatcherEnv & { readonly delivery: DeliveryEnv },
  node: AgentIdentity,
  request: EnvironmentRequest,
): Promise<EnvironmentResult> {
  const assigned = await findAssigned(env, node, request);
  const resolved = assigned?.replica.resolved;
  const about = { tenant: node.tenant, node: node.name, replica: request.replica };
  if (!assigned || !resolved) {
    env.log.warn('secrets refused: the replica is not assigned to this node', about);
    return { kind: 'not_own' };
  }
  const due: DeliverableReplica = { ...assigned, resolved };
  const held = await checkTicket(env, node, due, { ticket: request.ticket, purpose: 'environment' });
  if ('kind' in held) return held;

  let isOurs = true;
  const audit = async (versions: SecretVersions) => {
    failpoint('delivery.redeeming');
    isOurs = await recordUse(env, due, held, versions);
    failpoint('delivery.redeemed');
    if (isOurs) env.log.info('secrets delivered', { ...about, deployment: due.replica.deployment, code: held.id });
  };
  const references = collectReferences(node.tenant, due.replica.template);
  const delivery = await readEnvironment(env.delivery.secrets, references, { versions: due.resolved.versions, audit });
  if (delivery.kind !== 'ready') return { kind: 'unresolved', ...explainUnresolved(delivery) };
  return isOurs ? { kind: 'ready', environment: delivery.environment } : settleLoss(env, node, due, held);
}

/** What is known of a ticket that is valid and was not used. */
export interface TicketUse {
  /** The public id of the ticket. */
  readonly id: string;
  readonly entry: Entry | undefined;
}

type TicketRejection = { readonly kind: 'ticket_invalid' | 'ticket_used' };

function readUses(
  env: DispatcherEnv & { readonly delivery: DeliveryEnv },
  node: NodeIdentity,
  { replica, key }: AssignedReplica,
  ticket: string,
  purpose: TicketPurpose,
): TicketUse | TicketRejection {
  const id = env.delivery.tickets.check(ticket, node, replica, purpose);
  if (id === undefined) return { kind: 'ticket_invalid' };
  const entry = env.cache.get(key);
  if (entry && wasUsed(entry, id)) return { kind: 'ticket_used' };
  if (!entry || recentUses(entry, env).length < USES_MAX) return { id, entry };
  const about = { tenant: node.tenant, node: node.name, replica: replica.uid };
  env.log.warn('delivery refused: requested too often for one replica', about);
  return { kind: 'ticket_invalid' };
}

/** Another request won: it used this ticket, or the replica has changed. */
async function settleLoss(
  env: DispatcherEnv,
  node: NodeIdentity,
  due: AssignedReplica,
  { id }: TicketUse,
): Promise<TicketRejection> {
  await env.cache.barrier();
  const used = env.cache.get(due.key);
  return used && wasUsed(used, id) ? refuseRepeat(env, node, due) : { kind: 'ticket_invalid' };
}

/** Refuses a ticket that is not valid, or was used: before anything is read for its bearer. */
export async function checkTicket(
  env: DispatcherEnv & { readonly delivery: DeliveryEnv },
  node: NodeIdentity,
  due: AssignedReplica,
  { ticket, purpose }: { readonly ticket: string; readonly purpose: TicketPurpose },
): Promise<TicketUse | TicketRejection> {
  const held = readUses(env, node, due, ticket, purpose);
  return 'kind' in held && held.kind === 'ticket_used' ? refuseRepeat(env, node, due) : held;
}

/** Records the use of a ticket for a registry login, before one is delivered for it. */
export async function redeemTicket(
  env: DispatcherEnv,
  node: NodeIdentity,
  due: AssignedReplica,
  { use, versions }: { readonly use: TicketUse; readonly versions: SecretVersions },
): Promise<'redeemed' | TicketRejection> {
  if (!(await recordUse(env, due, use, versions))) return settleLoss(env, node, due, use);
  const { uid: replica, deployment } = due.replica;
  const about = { tenant: node.tenant, node: node.name, replica, deployment, code: use.id };
  env.log.info('a login for a registry was requested', about);
  return 'redeemed';
}

/**
 * The replica of a request, when it is assigned to the node now and its secrets were found. One that was unassigned a moment ago
 * gets nothing, and a former holder of the node is refused.
 */
export async function findAssigned(
  env: DispatcherEnv,
  node: AgentIdentity,
  { replica: uid, generation }: EnvironmentRequest,
): Promise<AssignedReplica | undefined> {
  await env.cache.barrier();
  if (isHeldByOther(env, node)) throw new NodeHeldFault(node);
  const [entry] = env.cache.by(REPLICAS_BY_UID, uid);
  const replica = entry && readReplica(entry);
  if (!entry || !replica || replica.retiringSince !== undefined || !isResolved(replica)) return undefined;
  const isOwn = replica.tenant === node.tenant && replica.nodeId === node.id && replica.generation === generation;
  return isOwn ? { entry, replica, key: keys.delivery(node.tenant, replica.deployment, uid) } : undefined;
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
  { entry, replica, key }: AssignedReplica,
  { id: ticket, entry: held }: TicketUse,
  versions: SecretVersions,
): Promise<boolean> {
  const before = held && value<Delivery>(held);
  const use: DeliveryUse = { ticket, versions, at: new Date(env.clock.now()).toISOString() };
  const uses = [...(held ? recentUses(held, env) : []), use];
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
  { replica, key }: AssignedReplica,
): Promise<TicketRejection> {
  const about = { tenant: node.tenant, node: node.name, replica: replica.uid };
  env.log.warn('delivery refused: the ticket was already used', about);
  const held = env.cache.get(key);
  const record = held && value<Delivery>(held);
  if (!held || !record || record.repeated !== undefined) return { kind: 'ticket_used' };
  const event = await env.events.put({
    type: 'secret.delivery_repeated',
    tenant: node.tenant,
    subject: { kind: 'Node', name: node.name, id: node.id },
    severity: 'warning',
    reason: 'delivery_ticket_used',
    message: `A ticket for the secrets or the registry login of a replica of ${replica.deployment} was presented twice; the second request got nothing. If no agent on ${node.name} restarted, check the node, rotate the secrets and replace the login.`,
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
export function toEnvironmentRejection(answer: Exclude<EnvironmentResult, { readonly kind: 'ready' }>): {
  readonly status: number;
  readonly code: PlainCode;
} {
  if (answer.kind !== 'unresolved') return REFUSALS[answer.kind];
  return answer.reason === 'secret_store_unavailable'
    ? { status: 503, code: 'secret_store_unavailable' }
    : { status: 409, code: 'secrets_unresolved' };
}
