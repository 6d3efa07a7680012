import { createPublicKey, verify } from 'node:crypto';

import { createTypedId } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import { checkEnrolment, type Enrolment, type NodeNameRecord, type StoredNode } from '../../../crds/node/index.js';
import type { StoredToken } from '../../../crds/tenant/index.js';
import { type MintedToken, mintToken } from '../../../pkg/auth/index.js';
import { type EnrolReply, formatEnrolmentText, toLabelsChangedEvent } from '../../../pkg/link/index.js';
import { encode, type Entry, type Put, value } from '../../../pkg/store/index.js';
import { putConflictKeys } from '../../admission/conflict-keys.js';
import { checkNodeQuota, listNodeConflictKeys, type NodeQuota } from '../../admission/quota.js';
import { retryOnConflict, waitUntilCached } from '../../http/concurrency.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import type { ApiCall, RouteResult } from '../../http/route.js';
import { putToken, type TokenEnv } from '../token/token.js';
import type { NodeEnv } from './view.js';

const NODE_TOKEN_SECONDS = 24 * 3600;

/** What an enrolment is decided on, read from the store itself. */
interface EnrolmentState {
  readonly join: Entry;
  readonly holder: Entry | undefined;
  readonly node: Entry | undefined;
  /** Whether the tenant may have one more. Undefined for a node that is there. */
  readonly quota: NodeQuota | undefined;
}

/**
 * Enrols a machine: one transaction uses up the join token, takes the name, and writes the node and its token. The same
 * key may repeat it with the same join token, so that a lost answer burns nothing.
 */
export async function enrol(env: NodeEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkEnrolment(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const asked = checked.value;
  if (!isProofValid(formatEnrolmentText(asked.nodeName, asked.publicKey), asked.publicKey, asked.proof)) {
    return rejectRequest('node_proof_invalid', 'proof', asked.proof);
  }
  const { alterations } = checked;
  return env.mutex.run(listNodeConflictKeys(env, call.tenant), () =>
    retryOnConflict(asked.nodeName, async () => {
      const written = await enrolOnce(env, call, asked);
      if (!written || written instanceof RequestRejection) return written;
      const { reply, isNew } = written;
      return { ...replyJson(isNew ? 201 : 200, { ...reply, alterations, warnings: [] }), alterations };
    }),
  );
}

/** Undefined when something has changed since it was read. */
async function enrolOnce(env: NodeEnv, call: ApiCall, asked: Enrolment) {
  const standing = await read(env, call, asked.nodeName);
  if (standing instanceof RequestRejection) return standing;
  const refused = checkEnrolmentState(standing, call, asked) ?? rejectAboveQuota(standing.quota, call.tenant);
  if (refused) return refused;
  const written = await write(env, call, asked, standing);
  if (!written) return undefined;
  const { node, minted, isNew } = written;
  const reply: EnrolReply = {
    node: { id: node.id, name: node.name, tenant: call.tenant },
    token: minted.text,
    expiresAt: minted.stored.expiresAt,
  };
  return { reply, isNew };
}

/** Whether the holder of a key has signed a text with it. */
export function isProofValid(text: string, publicKey: string, proof: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return verify(null, Buffer.from(text), key, Buffer.from(proof, 'base64'));
  } catch {
    return false; // not a key at all
  }
}

/** A fresh token for a node. */
export function mintNodeToken(
  env: TokenEnv,
  node: { id: string; name: string; tenant: string },
  by: string,
): MintedToken {
  return mintToken(
    {
      kind: 'node',
      tenant: node.tenant,
      node: node.id,
      nodeName: node.name,
      description: `node ${node.name}`,
      createdBy: by,
      lifeSeconds: NODE_TOKEN_SECONDS,
    },
    env,
  );
}

async function read(env: NodeEnv, call: ApiCall, name: string): Promise<EnrolmentState | RequestRejection> {
  const { store, cache } = env;
  const [join, holder, node] = await Promise.all([
    store.get(keys.token(call.caller.id)),
    store.get(keys.nodeName(name)),
    store.get(keys.node(call.tenant, name)),
    cache.barrier(),
  ]);
  if (!join) return rejectRequest('auth_invalid', 'Authorization', '');
  return { join, holder, node, quota: node ? undefined : checkNodeQuota(env, call.tenant) };
}

function checkEnrolmentState(
  { join, holder, node }: EnrolmentState,
  { tenant }: ApiCall,
  asked: Enrolment,
): RequestRejection | undefined {
  const { usedBy, nodeName } = value<StoredToken>(join);
  const isOtherName = nodeName !== undefined && nodeName !== asked.nodeName;
  if (usedBy !== undefined && (usedBy !== asked.publicKey || isOtherName)) {
    return rejectRequest('join_token_used', 'Authorization', '');
  }
  if (isOtherName) return rejectRequest('join_token_bound_to_other_name', 'nodeName', asked.nodeName, { nodeName });
  if (holder && value<NodeNameRecord>(holder).claims[0]?.tenant !== tenant) {
    return rejectRequest('node_owned_by_another_tenant', 'nodeName', asked.nodeName);
  }
  // A machine that was handed over is bound to no key until its new owner's agent brings one.
  const bound = node && value<StoredNode>(node).publicKey;
  if (bound && bound !== asked.publicKey) return rejectRequest('node_key_mismatch', 'publicKey', asked.publicKey);
  return undefined;
}

function rejectAboveQuota(quota: NodeQuota | undefined, tenant: string): RequestRejection | undefined {
  if (quota?.reached === undefined) return undefined;
  return rejectRequest('quota_reached', 'nodeName', tenant, { kind: 'nodes', limit: quota.reached });
}

/** Undefined when something has changed since it was read. */
async function write(env: NodeEnv, call: ApiCall, asked: Enrolment, { join, holder, node, quota }: EnrolmentState) {
  const { tenant, caller, requestId } = call;
  const before = node && value<StoredNode>(node);
  const record = buildNode(env, tenant, asked, before);
  const minted = mintNodeToken(env, { id: record.id, name: record.name, tenant }, caller.id);
  const used: StoredToken = { ...value<StoredToken>(join), usedBy: asked.publicKey, nodeName: asked.nodeName };
  const puts: Put[] = [
    await putToken(env.store, minted.stored, env.clock.now()),
    await putToken(env.store, used, env.clock.now()),
    { key: keys.nodeName(asked.nodeName), bytes: holder?.bytes ?? encode(createClaims(record)) },
    { key: keys.node(tenant, asked.nodeName), bytes: encode(record) },
  ];
  const event = before ? toLabelsChangedEvent(before, record) : toEnrolledEvent(tenant, record);
  if (event) puts.push(await env.events.put(event));
  if (quota?.conflictKeys.length)
    puts.push(...putConflictKeys(quota.conflictKeys, requestId, await env.eventLeases.current()));
  const guards = [
    { key: join.key, at: join.revision },
    { key: keys.nodeName(asked.nodeName), at: holder?.revision ?? 0 },
    { key: keys.node(tenant, asked.nodeName), at: node?.revision ?? 0 },
    { key: keys.tenant(tenant), exists: true },
    ...(quota?.guards ?? []),
  ] as const;
  const verdict = await env.store.commit({ guards, puts, deletes: [], proof: keys.token(minted.stored.id) });
  if (!verdict.stored) return undefined;
  await waitUntilCached(env.cache, verdict.revision);
  return { node: record, minted, isNew: node === undefined };
}

function buildNode(env: NodeEnv, tenant: string, asked: Enrolment, before: StoredNode | undefined): StoredNode {
  const { nodeName: name, labels, capacity, publicKey, agentVersion, controlPlane = false } = asked;
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
  const orders = before?.orders;
  return { metadata, id, name, labels, capacity, publicKey, controlPlane, agentVersion, ...(orders && { orders }) };
}

function createClaims({ metadata }: StoredNode): NodeNameRecord {
  return { claims: [{ tenant: metadata.tenant, since: metadata.createdAt }] };
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
