import { createPublicKey, verify } from 'node:crypto';

import { createTypedId } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import { checkEnrolment, type Enrolment, type NodeNameRecord, type StoredNode } from '../../../crds/node/index.js';
import { reject } from '../../../crds/rejections/index.js';
import type { StoredToken } from '../../../crds/tenant/index.js';
import { type MintedToken, mintToken } from '../../../pkg/auth/index.js';
import { formatEnrolmentText, type EnrolReply, toLabelsChangedEvent } from '../../../pkg/link/index.js';
import { encode, type Entry, type Put, value } from '../../../pkg/store/index.js';
import { type NodeRoom, nodeTurns, roomForNode } from '../../admission/quota.js';
import { turnPuts } from '../../admission/conflict-keys.js';
import type { ApiEnv } from '../../env.js';
import type { Call } from '../../http/call.js';
import { attempts, untilShown } from '../../http/concurrency.js';
import { Refused } from '../../http/rejection.js';
import { json } from '../../http/reply.js';
import type { Outcome } from '../../http/route.js';
import { tokenPut } from '../token/token.js';

const NODE_TOKEN_SECONDS = 24 * 3600;

/** What an enrolment is decided on, read from the store itself. */
interface Standing {
  readonly join: Entry;
  readonly holder: Entry | undefined;
  readonly node: Entry | undefined;
  /** Whether the tenant may have one more. Undefined for a node that is there. */
  readonly room: NodeRoom | undefined;
}

/**
 * Enrols a machine: one transaction uses up the join token, takes the name, and writes the node and its token. The same
 * key may repeat it with the same join token, so that a lost answer burns nothing.
 */
export async function enrol(env: ApiEnv, call: Call): Promise<Outcome> {
  const checked = checkEnrolment(call.document);
  if (!checked.ok) return new Refused(checked.rejections);
  const asked = checked.value;
  if (!isProof(formatEnrolmentText(asked.nodeName, asked.publicKey), asked.publicKey, asked.proof)) {
    return new Refused(reject('node_proof_invalid', 'proof', asked.proof));
  }
  const { alterations } = checked;
  return env.turnstile.pass(nodeTurns(env, call.tenant), () =>
    attempts(asked.nodeName, async () => {
      const written = await enrolOnce(env, call, asked);
      if (!written || written instanceof Refused) return written;
      const { reply, isNew } = written;
      return { ...json(isNew ? 201 : 200, { ...reply, alterations, warnings: [] }), alterations };
    }),
  );
}

/** Undefined when something has changed since it was read. */
async function enrolOnce(env: ApiEnv, call: Call, asked: Enrolment) {
  const standing = await read(env, call, asked.nodeName);
  if (standing instanceof Refused) return standing;
  const refused = refusal(standing, call, asked) ?? tooMany(standing.room, call.tenant);
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
export function isProof(text: string, publicKey: string, proof: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return verify(null, Buffer.from(text), key, Buffer.from(proof, 'base64'));
  } catch {
    return false; // not a key at all
  }
}

/** A fresh token for a node. */
export function nodeToken(env: ApiEnv, node: { id: string; name: string; tenant: string }, by: string): MintedToken {
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

async function read(env: ApiEnv, call: Call, name: string): Promise<Standing | Refused> {
  const { store, cache } = env;
  const [join, holder, node] = await Promise.all([
    store.get(keys.token(call.caller.id)),
    store.get(keys.nodeName(name)),
    store.get(keys.node(call.tenant, name)),
    cache.barrier(),
  ]);
  if (!join) return new Refused(reject('auth_invalid', 'Authorization', ''));
  return { join, holder, node, room: node ? undefined : roomForNode(env, call.tenant) };
}

function refusal({ join, holder, node }: Standing, { tenant }: Call, asked: Enrolment): Refused | undefined {
  const { usedBy, nodeName } = value<StoredToken>(join);
  const isOtherName = nodeName !== undefined && nodeName !== asked.nodeName;
  if (usedBy !== undefined && (usedBy !== asked.publicKey || isOtherName)) {
    return new Refused(reject('join_token_used', 'Authorization', ''));
  }
  if (isOtherName) {
    return new Refused(reject('join_token_bound_to_other_name', 'nodeName', asked.nodeName, { nodeName }));
  }
  if (holder && value<NodeNameRecord>(holder).claims[0]?.tenant !== tenant) {
    return new Refused(reject('node_owned_by_another_tenant', 'nodeName', asked.nodeName));
  }
  // A machine that was handed over is bound to no key until its new owner's agent brings one.
  const bound = node && value<StoredNode>(node).publicKey;
  if (bound && bound !== asked.publicKey) {
    return new Refused(reject('node_key_mismatch', 'publicKey', asked.publicKey));
  }
  return undefined;
}

function tooMany(room: NodeRoom | undefined, tenant: string): Refused | undefined {
  if (room?.reached === undefined) return undefined;
  return new Refused(reject('quota_reached', 'nodeName', tenant, { kind: 'nodes', limit: room.reached }));
}

/** Undefined when something has changed since it was read. */
async function write(env: ApiEnv, call: Call, asked: Enrolment, { join, holder, node, room }: Standing) {
  const { tenant, caller, requestId } = call;
  const before = node && value<StoredNode>(node);
  const record = nodeRecord(env, tenant, asked, before);
  const minted = nodeToken(env, { id: record.id, name: record.name, tenant }, caller.id);
  const used: StoredToken = { ...value<StoredToken>(join), usedBy: asked.publicKey, nodeName: asked.nodeName };
  const puts: Put[] = [
    await tokenPut(env.store, minted.stored, env.clock.now()),
    await tokenPut(env.store, used, env.clock.now()),
    { key: keys.nodeName(asked.nodeName), bytes: holder?.bytes ?? encode(firstClaim(record)) },
    { key: keys.node(tenant, asked.nodeName), bytes: encode(record) },
  ];
  const event = before ? toLabelsChangedEvent(before, record) : enrolledEvent(tenant, record);
  if (event) puts.push(await env.events.put(event));
  if (room?.turns.length) puts.push(...turnPuts(room.turns, requestId, await env.eventLeases.current()));
  const guards = [
    { key: join.key, at: join.revision },
    { key: keys.nodeName(asked.nodeName), at: holder?.revision ?? 0 },
    { key: keys.node(tenant, asked.nodeName), at: node?.revision ?? 0 },
    { key: keys.tenant(tenant), exists: true },
    ...(room?.guards ?? []),
  ] as const;
  const verdict = await env.store.commit({ guards, puts, deletes: [], proof: keys.token(minted.stored.id) });
  if (!verdict.stored) return undefined;
  await untilShown(env.cache, verdict.revision);
  return { node: record, minted, isNew: node === undefined };
}

function nodeRecord(env: ApiEnv, tenant: string, asked: Enrolment, before: StoredNode | undefined): StoredNode {
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

function firstClaim({ metadata }: StoredNode): NodeNameRecord {
  return { claims: [{ tenant: metadata.tenant, since: metadata.createdAt }] };
}

function enrolledEvent(tenant: string, { id, name, labels, capacity }: StoredNode) {
  return {
    type: 'node.enrolled',
    tenant,
    subject: { kind: 'Node', name, id },
    reason: 'enrolled',
    message: `node ${name} joined`,
    data: { labels, capacity },
  } as const;
}
