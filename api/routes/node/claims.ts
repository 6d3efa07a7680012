import { createTypedId, isDnsLabel } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { checkClaimRelease, type NodeClaim, type NodeNameRecord, type StoredNode } from '../../../crds/node/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import { REPLICAS_BY_NODE } from '../../../pkg/fleet/index.js';
import { type Change, encode, type Entry, type Guard, type Put, replace, value } from '../../../pkg/store/index.js';
import { putConflictKeys } from '../../admission/conflict-keys.js';
import { replyDryRun } from '../../write/answer.js';
import { checkCountQuota } from '../../admission/quota.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { checkIfMatch } from '../../write/if-match.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import { listOlderNodeTokens } from '../token/routes.js';
import { loadNode, type NodeEnv } from './view.js';
import { listVolumesOf, listOnlyHere } from './volumes.js';

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
    defineRoute('admin', 'DELETE', '/api/v1/nodes/{id}', call => removeNode(env, call), { query }),
    // A missing header is answered with a code of its own, for administrators too: `chosen` leaves it to the handler.
    defineRoute('admin', 'DELETE', `${NODE}/claim`, call => releaseNamed(env, call), { tenant: 'chosen', query }),
    defineRoute({ admin: true }, 'POST', `${NODE}/claims`, call => addClaim(env, call), { body }),
  ];
}

async function removeNode(env: NodeEnv, call: ApiCall): Promise<RouteResult> {
  const entry = await loadNode(env, call);
  if (entry instanceof RequestRejection) return entry;
  const ifMatch = call.request.headers['if-match'];
  return releaseClaim(env, call, { name: value<StoredNode>(entry).name, reason: 'node_deleted', ifMatch });
}

async function releaseNamed(env: NodeEnv, call: ApiCall): Promise<RouteResult> {
  const header = call.request.headers['x-tenant-id'];
  const checked = checkClaimRelease(typeof header === 'string' ? header : undefined);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  return releaseClaim(env, call, { name: call.params['nodeName']!, reason: 'released', ifMatch: undefined });
}

interface ReleaseRequest {
  readonly name: string;
  readonly reason: 'node_deleted' | 'released';
  /** The revision of the node that the client has seen. */
  readonly ifMatch: string | undefined;
}

/** Releases the tenant's claim to a name. With the owner's claim the node is deleted, or passes to the next claim. */
async function releaseClaim(env: NodeEnv, call: ApiCall, request: ReleaseRequest): Promise<RouteResult> {
  const { tenant, isDryRun } = call;
  const { name, reason, ifMatch } = request;
  const isForced = readFlag(call.query, 'force');
  if (isForced instanceof RequestRejection) return isForced;
  return retryOnConflict(name, async () => {
    await env.cache.barrier();
    const record = isDnsLabel(name) ? env.cache.get(keys.nodeName(name)) : undefined;
    const claims = record ? value<NodeNameRecord>(record).claims : [];
    if (!record || !claims.some(each => each.tenant === tenant)) return rejectUnknownName(name);
    const owned = claims[0]?.tenant === tenant ? env.cache.get(keys.node(tenant, name)) : undefined;
    const node = owned && value<StoredNode>(owned);
    const statuses = node ? listVolumesOf(env.cache, node) : [];
    const refusal =
      node &&
      (checkIfMatch(ifMatch, undefined, owned) ??
        rejectIfInUse(env, node, statuses.length) ??
        (isForced ? undefined : rejectIfHolding(env, node)));
    if (refusal) return refusal;

    const rest = claims.filter(each => each.tenant !== tenant);
    const own = claims.filter(each => each.tenant === tenant);
    if (isDryRun) return replyDryRun({ before: { name, claims: own }, after: { name, claims: [] } });
    const judged = isForced ? [] : statuses.slice(0, GUARDS_MAX).map(({ key, revision }) => ({ key, at: revision }));
    const change = await buildRelease(env, call, { record, rest, owned, name, reason, judged });
    if (!(await waitUntilStored(env.cache, env.store.commit(change)))) return undefined;
    return replyJson(200, { name, tenant, claims: [], alterations: [], warnings: [] });
  });
}

function rejectUnknownName(name: string): RequestRejection {
  return rejectRequest('resource_not_found', 'nodeName', name);
}

/** A node whose agent is alive would go on running its containers unobserved, and keep the bytes of its volumes. */
function rejectIfInUse(
  { cache }: NodeEnv,
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
function rejectIfHolding({ cache }: NodeEnv, node: StoredNode): RequestRejection | undefined {
  const names = listOnlyHere(cache, node);
  return names.length > 0 ? rejectRequest('node_has_volumes', 'id', node.name, { volumes: shorten(names) }) : undefined;
}

function shorten(names: readonly string[]): readonly string[] {
  return names.length <= NAMED_MAX ? names : [...names.slice(0, NAMED_MAX), `${names.length - NAMED_MAX} more`];
}

interface Release {
  readonly name: string;
  readonly reason: 'node_deleted' | 'released';
  /** The record of the name. */
  readonly record: Entry;
  /** The claims that are left. */
  readonly rest: readonly NodeClaim[];
  /** The node itself, when its owner releases it. */
  readonly owned: Entry | undefined;
  /** That its volumes are as they were judged. */
  readonly judged: readonly Guard[];
}

async function buildRelease(
  env: NodeEnv,
  { tenant, requestId }: ApiCall,
  { name, reason, record, rest, owned, judged }: Release,
): Promise<Change> {
  const puts: Put[] =
    rest.length > 0 ? [{ key: record.key, bytes: encode({ claims: rest } satisfies NodeNameRecord) }] : [];
  const deletes = rest.length > 0 ? [] : [record.key];
  const alive = env.cache.get(keys.alive(tenant, name));
  const node = owned && value<StoredNode>(owned);
  const handOver = node && rest[0] && (await buildHandOver(env, node, rest[0].tenant, requestId));
  if (owned) deletes.push(owned.key);
  if (owned && alive) deletes.push(alive.key);
  if (node) deletes.push(...listOlderNodeTokens(env.cache, node.id, 0));
  const subject = { kind: 'Node', name, id: node?.id ?? name } as const;
  const message = owned ? `node ${name} was released` : `the claim to node ${name} was released`;
  puts.push(await env.events.put({ type: 'node.claim_released', tenant, subject, reason, message }));
  return {
    guards: [
      { key: record.key, at: record.revision },
      // One that sends heartbeats again since it was judged is judged anew.
      ...(owned
        ? [
            { key: owned.key, at: owned.revision },
            { key: keys.alive(tenant, name), at: alive?.revision ?? 0 },
          ]
        : []),
      ...judged,
      ...(handOver?.guards ?? []),
    ],
    puts: [...puts, ...(handOver?.puts ?? [])],
    deletes,
  };
}

/**
 * What makes the machine its next owner's node, within that tenant's quota. Beyond it the tenant has the claim and no
 * node: its agent enrols when there is room.
 */
async function buildHandOver(
  env: NodeEnv,
  given: StoredNode,
  tenant: string,
  requestId: string,
): Promise<Pick<Change, 'guards' | 'puts'> | undefined> {
  const { reached, conflictKeys, guards } = checkCountQuota(env, tenant, 'nodes');
  if (reached !== undefined) return undefined;
  const node = createHandedOverNode(env, given, tenant);
  const key = keys.node(tenant, node.name);
  const puts = [{ key, bytes: encode(node) }, await env.events.put(toHandOverEvent(node))];
  const locks = await putConflictKeys(env.conflictLeases, conflictKeys, requestId);
  return { guards: [{ key, at: 0 }, ...guards], puts: [...puts, ...locks] };
}

/**
 * The machine as its next owner's node: of another id, because what was said and stored of the old one is not the new
 * owner's; without labels, which the old owner chose; and without a key, of which the old owner may have a copy. It is joining until its agent enrols with a
 * join token of the new owner.
 */
function createHandedOverNode({ clock, random }: NodeEnv, given: StoredNode, tenant: string): StoredNode {
  const { orders: _, renewedAt: __, ...node } = given;
  const id = createTypedId('node', count => random.bytes(count));
  const now = new Date(clock.now()).toISOString();
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

async function addClaim(env: NodeEnv, { tenant, params, isDryRun }: ApiCall): Promise<RouteResult> {
  const name = params['nodeName']!;
  const answer = (claims: readonly NodeClaim[]) => ({
    name,
    claims,
    alterations: [],
    warnings: warnAboveNodeQuota(env, tenant),
  });
  return retryOnConflict(name, async () => {
    await env.cache.barrier();
    const record = isDnsLabel(name) ? env.cache.get(keys.nodeName(name)) : undefined;
    if (!record) return rejectUnknownName(name);
    const { claims } = value<NodeNameRecord>(record);
    if (claims.some(each => each.tenant === tenant)) return replyJson(200, answer(claims));
    if (claims.length >= MOST_CLAIMS) return rejectRequest('node_claims_full', 'nodeName', name, { most: MOST_CLAIMS });
    const more = [...claims, { tenant, since: new Date(env.clock.now()).toISOString() }];
    if (isDryRun) return replyDryRun({ before: { name, claims }, after: { name, claims: more } });
    const named: NodeNameRecord = { claims: more };
    const write = replace(env.store, record, named, [{ key: keys.tenant(tenant), exists: true }]);
    if (!(await waitUntilStored(env.cache, write))) return undefined;
    return replyJson(201, answer(more));
  });
}

/** A claim is recorded beyond the quota of nodes too: it grants nothing yet. */
function warnAboveNodeQuota(env: NodeEnv, tenant: string): readonly Warning[] {
  const { reached } = checkCountQuota(env, tenant, 'nodes');
  if (reached === undefined) return [];
  const message = `the quota of nodes is ${reached} and is used up; this node waits until the quota allows it`;
  return [{ code: 'quota_reached', field: 'nodeName', message }];
}
