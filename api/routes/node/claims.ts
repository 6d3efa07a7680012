import { createTypedId, isDnsLabel } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { checkClaimRelease, type NodeClaim, type NodeNameRecord, type StoredNode } from '../../../crds/node/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import { REPLICAS_BY_NODE } from '../../../pkg/fleet/index.js';
import { type Cache, encode, type Entry, value } from '../../../pkg/store/index.js';
import { findCountReached, guardQuotas, listCountConflictKeys } from '../../admission/quota.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route } from '../../http/route.js';
import { type Plan, type WriteInput, type CachedEnv, write, type Writing } from '../../write/write.js';
import { listOlderNodeTokens } from '../token/routes.js';
import { findNodeEntry, type NodeEnv } from './view.js';
import { listOnlyHere, listVolumesOf } from './volumes.js';

const MOST_CLAIMS = 2;
/** Volumes that a refusal names; it counts the others. */
const NAMED_MAX = 20;
/** As many as fit into one transaction of the store beside the rest. */
const GUARDS_MAX = 100;
const NODE = '/api/v1/nodes/{nodeName}';

/** Claims to a machine: the oldest owns it, a second one waits until the first is released. */
export function createNodeClaimRoutes(env: NodeEnv): readonly Route[] {
  const body = 'none';
  const query = [...WRITE_QUERY, 'force'];
  return [
    defineRoute('admin', 'DELETE', '/api/v1/nodes/{id}', call => write(env, call, removal), { query }),
    // A missing header is answered with a code of its own, for administrators too: `chosen` leaves it to the handler.
    defineRoute('admin', 'DELETE', `${NODE}/claim`, call => write(env, call, release), { tenant: 'chosen', query }),
    defineRoute({ admin: true }, 'POST', `${NODE}/claims`, call => write(env, call, claiming), { body }),
  ];
}

/** What a release is judged by. */
interface ReleaseFacts {
  readonly name: string;
  /** The record of the name. */
  readonly record: Entry;
  /** The node itself, when its owner releases it. */
  readonly owned: Entry | undefined;
}

/** The volumes that have bytes on the node: their status must be as it was judged. */
type JudgedVolumes = readonly Entry[];

/** How the tenant's claim to a name is released. With the owner's claim the node is deleted, or passes to the next claim. */
function defineRelease(
  reason: 'node_deleted' | 'released',
  toName: (env: NodeEnv, call: ApiCall) => string | RequestRejection,
): Writing<NodeEnv, ReleaseFacts, JudgedVolumes> {
  const find = (env: NodeEnv, call: ApiCall): ReleaseFacts | RequestRejection => {
    const name = toName(env, call);
    if (name instanceof RequestRejection) return name;
    const record = findName(env.cache, name);
    const owner = record && listClaims(record).findIndex(({ tenant }) => tenant === call.tenant);
    if (!record || owner === -1) return rejectUnknownName(name);
    return { name, record, owned: owner === 0 ? env.cache.get(keys.node(call.tenant, name)) : undefined };
  };
  return {
    name: 'node name',
    find: (env, call) => {
      const found = find(env, call);
      return found instanceof RequestRejection ? found : (found.owned ?? found.record);
    },
    // Of the next owner, whose node it becomes.
    conflictKeys: (env, call) => {
      const found = find(env, call);
      const next = found instanceof RequestRejection || !found.owned ? undefined : listClaims(found.record)[1];
      return next ? listCountConflictKeys(env, next.tenant, 'nodes') : [];
    },
    facts: find,
    judge: ({ call, facts: { owned } }, env) => {
      const isForced = readFlag(call.query, 'force');
      if (isForced instanceof RequestRejection) return isForced;
      if (!owned) return [];
      const node = value<StoredNode>(owned);
      const statuses = listVolumesOf(env.cache, node);
      const refused = rejectIfInUse(env, node, statuses.length) ?? (isForced ? undefined : rejectIfHolding(env, node));
      return refused ?? (isForced ? [] : statuses.slice(0, GUARDS_MAX));
    },
    plan: (given, volumes, env) => planRelease(given, reason, volumes, env),
    show: (_env, _written, { call: { tenant }, facts: { name } }) => ({ name, tenant, claims: [] }),
  };
}

const removal = defineRelease('node_deleted', (env, call) => {
  const entry = findNodeEntry(env, call);
  return entry instanceof RequestRejection ? entry : value<StoredNode>(entry).name;
});

const release = defineRelease('released', (_env, { request, params }) => {
  const header = request.headers['x-tenant-id'];
  const checked = checkClaimRelease(typeof header === 'string' ? header : undefined);
  return checked.ok ? params['nodeName']! : new RequestRejection(checked.rejections);
});

function findName(cache: Pick<Cache, 'get'>, name: string): Entry | undefined {
  return isDnsLabel(name) ? cache.get(keys.nodeName(name)) : undefined;
}

function listClaims(record: Entry): readonly NodeClaim[] {
  return value<NodeNameRecord>(record).claims;
}

function rejectUnknownName(name: string): RequestRejection {
  return rejectRequest('resource_not_found', 'nodeName', name);
}

/** A node whose agent is alive would go on running its containers unobserved, and keep the bytes of its volumes. */
function rejectIfInUse(
  { cache }: CachedEnv<NodeEnv>,
  { id, name, metadata, controlPlane }: StoredNode,
  volumes: number,
): RequestRejection | undefined {
  const isAlive = controlPlane || cache.get(keys.alive(metadata.tenant, name)) !== undefined;
  const replicas = cache.by(REPLICAS_BY_NODE, id).length;
  return isAlive && replicas + volumes > 0
    ? rejectRequest('node_in_use', 'id', name, { replicas, volumes })
    : undefined;
}

/** Bytes that are on a machine whose agent is silent for a moment must not be given up by a slip. */
function rejectIfHolding({ cache }: CachedEnv<NodeEnv>, node: StoredNode): RequestRejection | undefined {
  const names = listOnlyHere(cache, node);
  return names.length > 0 ? rejectRequest('node_has_volumes', 'id', node.name, { volumes: shorten(names) }) : undefined;
}

function shorten(names: readonly string[]): readonly string[] {
  return names.length <= NAMED_MAX ? names : [...names.slice(0, NAMED_MAX), `${names.length - NAMED_MAX} more`];
}

function planRelease(
  given: WriteInput<ReleaseFacts>,
  reason: 'node_deleted' | 'released',
  volumes: JudgedVolumes,
  env: CachedEnv<NodeEnv>,
): Plan {
  const { call, facts } = given;
  const { name, record, owned } = facts;
  const rest = listClaims(record).filter(({ tenant }) => tenant !== call.tenant);
  const own = listClaims(record).filter(({ tenant }) => tenant === call.tenant);
  const node = owned && value<StoredNode>(owned);
  const alive = owned && env.cache.get(keys.alive(call.tenant, name));
  const handOver = node && rest[0] && planHandOver(given, node, rest[0].tenant, env);
  const subject = { kind: 'Node', name, id: node?.id ?? name } as const;
  const message = owned ? `node ${name} was released` : `the claim to node ${name} was released`;
  const released = { type: 'node.claim_released', tenant: call.tenant, subject, reason, message } as const;
  return {
    puts: [
      ...(rest.length > 0 ? [{ key: record.key, bytes: encode({ claims: rest } satisfies NodeNameRecord) }] : []),
      ...(handOver?.puts ?? []),
    ],
    deletes: [
      ...(rest.length > 0 ? [] : [record.key]),
      ...(owned ? [owned.key] : []),
      ...(alive ? [alive.key] : []),
      ...(node ? listOlderNodeTokens(env.cache, node.id, 0) : []),
    ],
    guards: [
      ...[record, ...volumes].map(({ key, revision }) => ({ key, at: revision })),
      // One that sends heartbeats again since it was judged is judged again.
      ...(owned ? [{ key: keys.alive(call.tenant, name), at: alive?.revision ?? 0 }] : []),
      ...(handOver?.guards ?? []),
    ],
    events: [released, ...(handOver?.events ?? [])],
    before: { name, claims: own },
    after: { name, claims: [] },
  };
}

/**
 * What makes the machine its next owner's node, within that tenant's quota. Beyond it the tenant has the claim and no
 * node: its agent enrols when there is room.
 */
function planHandOver(given: WriteInput, former: StoredNode, tenant: string, env: CachedEnv<NodeEnv>) {
  if (findCountReached(env, tenant, 'nodes') !== undefined) return undefined;
  const node = createHandedOverNode(given, former, tenant);
  const key = keys.node(tenant, node.name);
  return {
    guards: [{ key, at: 0 }, guardQuotas(env.cache, tenant)],
    puts: [{ key, bytes: encode(node) }],
    events: [toHandOverEvent(node)],
  };
}

/**
 * The machine as its next owner's node: of another id, because what was said and stored of the old one is not the new
 * owner's; without labels, which the old owner chose; and without a key, of which the old owner may have a copy. It is joining until its agent enrols with a
 * join token of the new owner.
 */
function createHandedOverNode({ now, random }: WriteInput, former: StoredNode, tenant: string): StoredNode {
  const { orders: _, renewedAt: __, ...node } = former;
  const id = createTypedId('node', count => random.bytes(count));
  return {
    ...node,
    id,
    labels: {},
    publicKey: '',
    metadata: { ...node.metadata, tenant, uid: id, generation: 1, createdAt: now, updatedAt: now },
  };
}

function toHandOverEvent({ id, name, metadata }: StoredNode) {
  return {
    type: 'node.enrolled',
    tenant: metadata.tenant,
    subject: { kind: 'Node', name, id },
    reason: 'handed_over',
    message: `node ${name} was handed over by its owner; enrol its agent with a join token of this tenant`,
  } as const;
}

const claiming: Writing<NodeEnv, undefined, readonly NodeClaim[]> = {
  name: 'node name',
  find: ({ cache }, { params }) => findName(cache, params['nodeName']!) ?? rejectUnknownName(params['nodeName']!),
  judge: ({ call: { tenant, params }, stored, now }) => {
    const claims = listClaims(stored!);
    if (claims.some(each => each.tenant === tenant)) return claims;
    if (claims.length < MOST_CLAIMS) return [...claims, { tenant, since: now }];
    return rejectRequest('node_claims_full', 'nodeName', params['nodeName']!, { most: MOST_CLAIMS });
  },
  plan: ({ call: { tenant, params }, stored }, claims, env) => {
    const name = params['nodeName']!;
    const before = listClaims(stored!);
    const warnings = warnAboveNodeQuota(env, tenant);
    const tried = { before: { name, claims: before }, after: { name, claims }, warnings };
    if (claims === before) return tried;
    return {
      ...tried,
      record: { key: stored!.key, bytes: encode({ claims } satisfies NodeNameRecord) },
      guards: [{ key: keys.tenant(tenant), exists: true }],
      location: `/api/v1/nodes/${name}`,
    };
  },
  show: (_env, _written, { call: { params } }, claims) => ({ name: params['nodeName']!, claims }),
};

/** A claim is recorded beyond the quota of nodes too: it grants nothing yet. */
function warnAboveNodeQuota(env: CachedEnv<NodeEnv>, tenant: string): readonly Warning[] {
  const limit = findCountReached(env, tenant, 'nodes');
  if (limit === undefined) return [];
  const message = `the quota of nodes is ${limit} and is used up; this node waits until the quota allows it`;
  return [{ code: 'quota_reached', field: 'nodeName', message }];
}
