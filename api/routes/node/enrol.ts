import { createTypedId } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import { checkEnrolment, type Enrolment, type NodeNameRecord, type StoredNode } from '../../../crds/node/index.js';
import type { StoredToken } from '../../../crds/tenant/index.js';
import { mintToken } from '../../../pkg/auth/index.js';
import {
  type EnrolReply,
  formatEnrolmentText,
  isSignedBy,
  parseNodeKey,
  toLabelsChangedEvent,
} from '../../../pkg/link/index.js';
import { encode, type Entry, type Put, value } from '../../../pkg/store/index.js';
import { putConflictKeys } from '../../admission/conflict-keys.js';
import { checkCountQuota, type CountQuota, listCountConflictKeys } from '../../admission/quota.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import type { ApiCall, RouteResult } from '../../http/route.js';
import { listOlderNodeTokens, putToken, type TokenEnv } from '../token/routes.js';
import type { NodeEnv } from './view.js';

const NODE_TOKEN_SECONDS = 24 * 3600;

/** The one in use, and the one whose answer may have been lost. */
export const TOKENS_PER_NODE = 2;

/** What an enrolment is decided by, read from the store itself. */
interface EnrolmentState {
  readonly join: Entry;
  readonly holder: Entry | undefined;
  readonly node: Entry | undefined;
  /** The presence of its agent. */
  readonly alive: Entry | undefined;
  /** Whether the tenant may have one more node. Undefined for a node that exists. */
  readonly quota: CountQuota | undefined;
}

/**
 * Enrols a machine: one transaction uses up the join token, takes the name, and writes the node and its token. The same
 * key may repeat it with the same join token, so that a lost answer burns nothing.
 *
 * A machine that has lost its key comes back under its name with a join token that was made for that name, once the node
 * sends no heartbeats: it is the same node with another key, and nothing that the old key was given counts any more.
 */
export async function enrol(env: NodeEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkEnrolment(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { value: enrolment, alterations } = checked;
  const { nodeName, publicKey, proof } = enrolment;
  if (!isSignedBy(parseNodeKey(publicKey), formatEnrolmentText(nodeName, publicKey), proof)) {
    return rejectRequest('node_proof_invalid', 'proof', proof);
  }
  return env.mutex.run(listCountConflictKeys(env, call.tenant, 'nodes'), () =>
    retryOnConflict(nodeName, async () => {
      const state = await readState(env, call, nodeName);
      if (state instanceof RequestRejection) return state;
      const rejection = checkState(state, call.tenant, enrolment);
      if (rejection) return rejection;
      const reply = await storeEnrolment(env, call, enrolment, state);
      const status = state.node ? 200 : 201;
      return reply && { ...replyJson(status, { ...reply, alterations, warnings: [] }), alterations };
    }),
  );
}

/** Mints a token for a node: the record to store, and the answer to its agent. */
export function mintNodeToken(
  env: TokenEnv,
  node: EnrolReply['node'],
  createdBy: string,
): { readonly stored: StoredToken; readonly reply: EnrolReply } {
  const { tenant, id, name: nodeName } = node;
  const description = `node ${nodeName}`;
  const owner = { kind: 'node', tenant, node: id, nodeName } as const;
  const { stored, text } = mintToken({ ...owner, description, createdBy, lifeSeconds: NODE_TOKEN_SECONDS }, env);
  return { stored, reply: { node, token: text, expiresAt: stored.expiresAt } };
}

async function readState(env: NodeEnv, call: ApiCall, name: string): Promise<EnrolmentState | RequestRejection> {
  const { store, cache } = env;
  const [join, holder, node, alive] = await Promise.all([
    store.get(keys.token(call.caller.id)),
    store.get(keys.nodeName(name)),
    store.get(keys.node(call.tenant, name)),
    store.get(keys.alive(call.tenant, name)),
    cache.barrier(),
  ]);
  if (!join) return rejectRequest('auth_invalid', 'Authorization', '');
  return { join, holder, node, alive, quota: node ? undefined : checkCountQuota(env, call.tenant, 'nodes') };
}

function checkState(state: EnrolmentState, tenant: string, enrolment: Enrolment): RequestRejection | undefined {
  const { join, holder, node, quota } = state;
  const { usedBy, nodeName, platform = false } = value<StoredToken>(join);
  const isOtherName = nodeName !== undefined && nodeName !== enrolment.nodeName;
  if (usedBy !== undefined && (usedBy !== enrolment.publicKey || isOtherName)) {
    return rejectRequest('join_token_used', 'Authorization', '');
  }
  if (isOtherName) return rejectRequest('join_token_bound_to_other_name', 'nodeName', enrolment.nodeName, { nodeName });
  if (holder && value<NodeNameRecord>(holder).claims[0]?.tenant !== tenant) {
    return rejectRequest('node_owned_by_another_tenant', 'nodeName', enrolment.nodeName);
  }
  // What runs on this node is the platform's to say: the node takes no work of its tenant, and never counts as failed.
  const isControlPlane = node !== undefined && value<StoredNode>(node).controlPlane;
  if (enrolment.controlPlane && !platform && !isControlPlane) {
    const needed = 'a join token that an administrator of the platform has issued';
    return rejectRequest('auth_forbidden', 'controlPlane', true, { needed });
  }
  if (isOtherKey(node, enrolment) && !mayReplaceKey(state)) {
    return rejectRequest('node_key_mismatch', 'publicKey', enrolment.publicKey);
  }
  if (quota?.reached === undefined) return undefined;
  return rejectRequest('quota_reached', 'nodeName', tenant, { kind: 'nodes', limit: quota.reached });
}

/** Whether the node is bound to another key. One that was handed over is bound to none until its new owner's agent brings one. */
function isOtherKey(node: Entry | undefined, { publicKey }: Enrolment): boolean {
  const bound = node && value<StoredNode>(node).publicKey;
  return bound !== undefined && bound !== '' && bound !== publicKey;
}

/**
 * Whether an administrator has said that this very machine may come back with another key, and no agent has the node now.
 * A join token for any machine is not enough, nor one that was used, nor a tenant's for the control plane's own node.
 */
function mayReplaceKey({ join, node, alive }: EnrolmentState): boolean {
  const { usedBy, nodeName, platform = false } = value<StoredToken>(join);
  const isControlPlane = node !== undefined && value<StoredNode>(node).controlPlane;
  return nodeName !== undefined && usedBy === undefined && alive === undefined && (platform || !isControlPlane);
}

/** Undefined when the state has changed since it was read. */
async function storeEnrolment(
  env: NodeEnv,
  { tenant, caller, requestId }: ApiCall,
  enrolment: Enrolment,
  { join, holder, node, alive, quota }: EnrolmentState,
): Promise<EnrolReply | undefined> {
  const { nodeName, publicKey } = enrolment;
  const before = node && value<StoredNode>(node);
  const isRecovered = isOtherKey(node, enrolment);
  const record = buildNode(env, tenant, enrolment, before);
  const { id, metadata } = record;
  const { stored, reply } = mintNodeToken(env, { id, name: nodeName, tenant }, caller.id);
  const used: StoredToken = { ...value<StoredToken>(join), usedBy: publicKey, nodeName };
  const claims: NodeNameRecord = { claims: [{ tenant, since: metadata.createdAt }] };
  const drafts = [
    ...(before ? [toLabelsChangedEvent(before, record)] : [toEnrolledEvent(tenant, record)]),
    ...(isRecovered ? [toKeyReplacedEvent(tenant, record)] : []),
  ].filter(draft => draft !== undefined);
  const puts: readonly Put[] = [
    await putToken(env.store, stored, env.clock.now()),
    await putToken(env.store, used, env.clock.now()),
    { key: keys.nodeName(nodeName), bytes: holder?.bytes ?? encode(claims) },
    { key: keys.node(tenant, nodeName), bytes: encode(record) },
    ...(await Promise.all(drafts.map(draft => env.events.put(draft)))),
    ...(await putConflictKeys(env.conflictLeases, quota?.conflictKeys ?? [], requestId)),
  ];
  const guards = [
    { key: join.key, at: join.revision },
    { key: keys.nodeName(nodeName), at: holder?.revision ?? 0 },
    { key: keys.node(tenant, nodeName), at: node?.revision ?? 0 },
    { key: keys.tenant(tenant), exists: true },
    ...(isRecovered ? [{ key: keys.alive(tenant, nodeName), at: alive?.revision ?? 0 }] : []),
    ...(quota?.guards ?? []),
  ] as const;
  const deletes = before ? listOlderNodeTokens(env.cache, before.id, isRecovered ? 0 : TOKENS_PER_NODE - 1) : [];
  const write = env.store.commit({ guards, puts, deletes, proof: keys.token(stored.id) });
  return (await waitUntilStored(env.cache, write)) ? reply : undefined;
}

function buildNode(env: NodeEnv, tenant: string, enrolment: Enrolment, before: StoredNode | undefined): StoredNode {
  const { nodeName: name, labels, capacity, publicKey, agentVersion, controlPlane = false } = enrolment;
  const now = new Date(env.clock.now()).toISOString();
  const id = before?.id ?? createTypedId('node', count => env.random.bytes(count));
  const metadata = {
    tenant,
    uid: id,
    generation: (before?.metadata.generation ?? 0) + 1,
    createdAt: before?.metadata.createdAt ?? now,
    updatedAt: now,
    specHash: hashSpec({ labels, capacity, agentVersion }),
  };
  const { orders } = before ?? {};
  const renewedAt = before?.publicKey === publicKey ? before.renewedAt : undefined;
  const advertised = { labels, capacity, publicKey, controlPlane, agentVersion };
  return { metadata, id, name, ...advertised, ...(renewedAt && { renewedAt }), ...(orders && { orders }) };
}

function toEnrolledEvent(tenant: string, { id, name, labels, capacity }: StoredNode) {
  return {
    type: 'node.enrolled',
    tenant,
    subject: { kind: 'Node', name, id },
    reason: 'enrolled',
    message: `node ${name} joined`,
    data: { labels, capacity },
  } as const;
}

function toKeyReplacedEvent(tenant: string, { id, name }: StoredNode) {
  return {
    type: 'node.key_replaced',
    tenant,
    subject: { kind: 'Node', name, id },
    severity: 'warning',
    reason: 'enrolled_again',
    message: `node ${name} came back with another key, by a join token made for it; its old key and tokens are revoked`,
  } as const;
}
