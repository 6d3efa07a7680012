import { createTypedId } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import { checkEnrolment, type Enrolment, type NodeNameRecord, type StoredNode } from '../../../crds/node/index.js';
import type { Alteration } from '../../../crds/rule/index.js';
import type { StoredToken } from '../../../crds/tenant/index.js';
import { mintToken } from '../../../pkg/auth/index.js';
import {
  type EnrolReply,
  formatEnrolmentText,
  isSignedBy,
  parseNodeKey,
  toLabelsChangedEvent,
} from '../../../pkg/link/index.js';
import { encode, type Entry, value } from '../../../pkg/store/index.js';
import { findCountReached, guardQuotas, listCountConflictKeys } from '../../admission/quota.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import type { ApiCall } from '../../http/route.js';
import type { Plan, WriteInput, CachedEnv, Writing } from '../../write/write.js';
import { listOlderNodeTokens, type TokenEnv, toTokenPut } from '../token/routes.js';
import type { NodeEnv } from './view.js';

const NODE_TOKEN_SECONDS = 24 * 3600;

/** The one in use, and the one whose answer may have been lost. */
export const TOKENS_PER_NODE = 2;

/** What an enrolment is decided by, read from the store itself. */
interface EnrolmentFacts {
  readonly enrolment: Enrolment;
  readonly alterations: readonly Alteration[];
  readonly join: Entry;
  readonly holder: Entry | undefined;
  readonly node: Entry | undefined;
  /** The presence of its agent. */
  readonly alive: Entry | undefined;
}

/**
 * Enrols a machine: one transaction uses up the join token, takes the name, and writes the node and its token. The same
 * key may repeat it with the same join token, so that a lost answer burns nothing.
 *
 * A machine that has lost its key comes back under its name with a join token that was made for that name, once the node
 * sends no heartbeats: it is the same node with another key, and nothing that the old key was given counts any more.
 */
export const enrolment: Writing<NodeEnv, EnrolmentFacts, EnrolledNode> = {
  name: 'node',
  conflictKeys: (env, { tenant }) => listCountConflictKeys(env, tenant, 'nodes'),
  facts: readFacts,
  judge: (given, env) => {
    const { call, facts } = given;
    const { node } = facts;
    const refused = rejectEnrolment(facts, call.tenant);
    if (refused) return refused;
    const limit = node ? undefined : findCountReached(env, call.tenant, 'nodes');
    if (limit !== undefined) {
      return rejectRequest('quota_reached', 'nodeName', call.tenant, { kind: 'nodes', limit });
    }
    const record = buildNode(given, facts);
    const { id, name } = record;
    return { record, ...mintNodeToken(env, given, { id, name, tenant: call.tenant }, call.caller.id) };
  },
  plan: planEnrolment,
  show: (_env, _written, _given, { reply }) => reply,
};

/** A node as it is to be stored, with its token. */
interface EnrolledNode extends NodeTokenGrant {
  readonly record: StoredNode;
}

/** A token of a node: the record to store, and the answer to its agent. */
interface NodeTokenGrant {
  readonly stored: StoredToken;
  readonly reply: EnrolReply;
}

/** Mints a token for a node. */
export function mintNodeToken(
  { keyring }: Pick<TokenEnv, 'keyring'>,
  { random, now }: Pick<WriteInput, 'random' | 'now'>,
  node: EnrolReply['node'],
  createdBy: string,
): NodeTokenGrant {
  const { tenant, id, name: nodeName } = node;
  const description = `node ${nodeName}`;
  const owner = { kind: 'node', tenant, node: id, nodeName } as const;
  const draft = { ...owner, description, createdBy, lifeSeconds: NODE_TOKEN_SECONDS };
  const { stored, text } = mintToken(draft, { keyring, random, clock: { now: () => Date.parse(now) } });
  return { stored, reply: { node, token: text, expiresAt: stored.expiresAt } };
}

async function readFacts(
  { store }: NodeEnv,
  { document, caller, tenant }: ApiCall,
): Promise<EnrolmentFacts | RequestRejection> {
  const checked = checkEnrolment(document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { value: asked, alterations } = checked;
  const { nodeName: name, publicKey, proof } = asked;
  if (!isSignedBy(parseNodeKey(publicKey), formatEnrolmentText(name, publicKey), proof)) {
    return rejectRequest('node_proof_invalid', 'proof', proof);
  }
  const [join, holder, node, alive] = await Promise.all([
    store.get(keys.token(caller.id)),
    store.get(keys.nodeName(name)),
    store.get(keys.node(tenant, name)),
    store.get(keys.alive(tenant, name)),
  ]);
  if (!join) return rejectRequest('auth_invalid', 'Authorization', '');
  return { enrolment: asked, alterations, join, holder, node, alive };
}

function rejectEnrolment(facts: EnrolmentFacts, tenant: string): RequestRejection | undefined {
  const { enrolment: asked, join, holder, node } = facts;
  const { usedBy, nodeName, platform = false } = value<StoredToken>(join);
  const isOtherName = nodeName !== undefined && nodeName !== asked.nodeName;
  if (usedBy !== undefined && (usedBy !== asked.publicKey || isOtherName)) {
    return rejectRequest('join_token_used', 'Authorization', '');
  }
  if (isOtherName) return rejectRequest('join_token_bound_to_other_name', 'nodeName', asked.nodeName, { nodeName });
  if (holder && value<NodeNameRecord>(holder).claims[0]?.tenant !== tenant) {
    return rejectRequest('node_owned_by_another_tenant', 'nodeName', asked.nodeName);
  }
  // What runs on this node is the platform's to say: the node takes no work of its tenant, and never counts as failed.
  const isControlPlane = node !== undefined && value<StoredNode>(node).controlPlane;
  if (asked.controlPlane && !platform && !isControlPlane) {
    const needed = 'a join token that an administrator of the platform has issued';
    return rejectRequest('auth_forbidden', 'controlPlane', true, { needed });
  }
  return isOtherKey(node, asked) && !mayReplaceKey(facts)
    ? rejectRequest('node_key_mismatch', 'publicKey', asked.publicKey)
    : undefined;
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
function mayReplaceKey({ join, node, alive }: EnrolmentFacts): boolean {
  const { usedBy, nodeName, platform = false } = value<StoredToken>(join);
  const isControlPlane = node !== undefined && value<StoredNode>(node).controlPlane;
  return nodeName !== undefined && usedBy === undefined && alive === undefined && (platform || !isControlPlane);
}

function planEnrolment(
  { call: { tenant }, now, facts }: WriteInput<EnrolmentFacts>,
  { record, stored }: EnrolledNode,
  { cache }: CachedEnv<NodeEnv>,
): Plan {
  const { enrolment: asked, alterations, join, holder, node, alive } = facts;
  const { nodeName, publicKey } = asked;
  const before = node && value<StoredNode>(node);
  const isRecovered = isOtherKey(node, asked);
  const used: StoredToken = { ...value<StoredToken>(join), usedBy: publicKey, nodeName };
  const claims: NodeNameRecord = { claims: [{ tenant, since: record.metadata.createdAt }] };
  const drafts = [
    before ? toLabelsChangedEvent(before, record) : toEnrolledEvent(tenant, record),
    isRecovered ? toKeyReplacedEvent(tenant, record) : undefined,
  ];
  return {
    record: { key: keys.node(tenant, nodeName), bytes: encode(record) },
    over: node,
    puts: [
      toTokenPut(stored, now),
      toTokenPut(used, now),
      { key: keys.nodeName(nodeName), bytes: holder?.bytes ?? encode(claims) },
    ],
    guards: [
      { key: join.key, at: join.revision },
      { key: keys.nodeName(nodeName), at: holder?.revision ?? 0 },
      ...(isRecovered ? [{ key: keys.alive(tenant, nodeName), at: alive?.revision ?? 0 }] : []),
      guardQuotas(cache, tenant),
    ],
    events: drafts.filter(draft => draft !== undefined),
    deletes: before ? listOlderNodeTokens(cache, before.id, isRecovered ? 0 : TOKENS_PER_NODE - 1) : [],
    proof: keys.token(stored.id),
    alterations,
    ...(!node && { location: `/api/v1/nodes/${nodeName}` }),
  };
}

function buildNode(
  { call: { tenant }, now, random }: WriteInput,
  { enrolment: asked, node }: EnrolmentFacts,
): StoredNode {
  const { nodeName: name, labels, capacity, publicKey, agentVersion, controlPlane = false } = asked;
  const before = node && value<StoredNode>(node);
  const id = before?.id ?? createTypedId('node', count => random.bytes(count));
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
