import { keys } from '../../../crds/keys/index.js';
import {
  checkJoinTokenRequest,
  nodeKind,
  type NodeOrder,
  type NodeOrders,
  type StoredNode,
} from '../../../crds/node/index.js';
import { mintToken } from '../../../pkg/auth/index.js';
import { type Change, encode, type Entry, type Put, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../write/answer.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';
import { readAuthorityPin } from '../../http/tls.js';
import { storeToken, toTokenResponse } from '../token/routes.js';
import { createNodeClaimRoutes } from './claims.js';
import { enrol } from './enrol.js';
import { listNodeReplicas } from './replicas.js';
import { loadNode, type NodeEnv, toNodeResponse } from './view.js';

const JOIN_SECONDS = 15 * 60;
const NODES = nodeKind.path;

/** Nodes: the machines that tenants have enrolled, and the orders of administrators about them. */
export function createNodeRoutes(env: NodeEnv): readonly Route[] {
  const order = (name: keyof typeof ORDER_EVENTS, update: UpdateOrders) =>
    defineRoute('admin', 'POST', `${NODES}/{id}/${name}`, call => orderNode(env, call, name, update), {
      body: 'none',
      grows: false,
    });
  return [
    defineRoute('admin', 'POST', `${NODES}/join-tokens`, call => createJoinToken(env, call)),
    defineRoute({ join: true }, 'POST', NODES, call => enrol(env, call), { query: [] }),
    defineRoute('viewer', 'GET', `${NODES}/{id}/replicas`, call => listNodeReplicas(env, call)),
    order('drain', drain),
    order('undrain', undrain),
    order('fence', fence),
    ...createNodeClaimRoutes(env),
  ];
}

async function createJoinToken(env: NodeEnv, { tenant, document, caller, isDryRun }: ApiCall): Promise<RouteResult> {
  const checked = checkJoinTokenRequest(document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { nodeName } = checked.value;
  const draft = {
    kind: 'join',
    tenant,
    description: nodeName === undefined ? 'joins one node' : `joins the node ${nodeName}`,
    createdBy: caller.id,
    lifeSeconds: JOIN_SECONDS,
    ...(nodeName !== undefined && { nodeName }),
    ...(caller.kind === 'admin' && { platform: true as const }),
  } as const;
  if (isDryRun) return replyDryRun({ after: draft });
  const minted = mintToken(draft, env);
  if (!(await storeToken(env, minted.stored))) return rejectRequest('resource_not_found', 'X-Tenant-ID', tenant);
  const caFingerprint = readAuthorityPin(env.settings);
  return replyJson(201, {
    token: minted.text,
    ...(caFingerprint !== undefined && { caFingerprint }),
    ...toTokenResponse(minted.stored),
    alterations: [],
    warnings: [],
  });
}

/** Gives the orders that a node has after another one. The same object when the order changes nothing. */
type UpdateOrders = (node: StoredNode, order: NodeOrder) => NodeOrders | undefined | RequestRejection;

const drain: UpdateOrders = ({ orders }, order) => (orders?.drain ? orders : { ...orders, drain: order });

const undrain: UpdateOrders = ({ orders }) => {
  const { drain: ended, ...rest } = orders ?? {};
  return ended ? rest : orders;
};

const fence: UpdateOrders = ({ orders, controlPlane, name }, order) => {
  if (controlPlane) return rejectRequest('node_is_control_plane', 'id', name);
  return orders?.fence ? orders : { ...orders, fence: order };
};

const ORDER_EVENTS = {
  drain: { type: 'node.draining', reason: 'draining', done: 'is being drained' },
  undrain: { type: 'node.undrained', reason: 'undrained', done: 'takes work again: its drain was ended' },
  fence: { type: 'node.fenced', reason: 'fenced', done: 'was declared off' },
} as const;

async function orderNode(
  env: NodeEnv,
  call: ApiCall,
  name: keyof typeof ORDER_EVENTS,
  update: UpdateOrders,
): Promise<RouteResult> {
  const order = { by: call.caller.id, since: new Date(env.clock.now()).toISOString() };
  return retryOnConflict(call.params['id']!, async () => {
    const entry = await loadNode(env, call);
    if (entry instanceof RequestRejection) return entry;
    const node = value<StoredNode>(entry);
    const orders = update(node, order);
    if (orders instanceof RequestRejection) return orders;
    if (call.isDryRun) return replyDryRun({ before: { orders: node.orders ?? {} }, after: { orders: orders ?? {} } });
    if (orders === undefined || orders === node.orders) return answer(env, entry);
    const event = await env.events.put(toOrderEvent(node, name, call));
    const change = buildOrderChange(env, entry, orders, event);
    if (!(await waitUntilStored(env.cache, env.store.commit(change)))) return undefined;
    return answer(env, env.cache.get(entry.key) ?? entry);
  });
}

function toOrderEvent({ metadata, id, name: node }: StoredNode, name: keyof typeof ORDER_EVENTS, { caller }: ApiCall) {
  const { type, reason, done } = ORDER_EVENTS[name];
  return {
    type,
    tenant: metadata.tenant,
    subject: { kind: 'Node', name: node, id },
    severity: name === 'fence' ? 'warning' : 'info',
    reason,
    message: `node ${node} ${done}, by ${describeCaller(caller)}`,
    data: { by: caller.id },
  } as const;
}

/** A fenced machine is off: its presence ends with the order, not only with its lease. */
function buildOrderChange({ cache, clock }: NodeEnv, entry: Entry, orders: NodeOrders, event: Put): Change {
  const { orders: before, ...node } = value<StoredNode>(entry);
  const { tenant, generation } = node.metadata;
  const metadata = { ...node.metadata, generation: generation + 1, updatedAt: new Date(clock.now()).toISOString() };
  const next: StoredNode = { ...node, metadata, ...(Object.keys(orders).length > 0 && { orders }) };
  const alive = orders.fence && !before?.fence ? cache.get(keys.alive(tenant, node.name)) : undefined;
  return {
    guards: [entry, ...(alive ? [alive] : [])].map(({ key, revision }) => ({ key, at: revision })),
    puts: [{ key: entry.key, bytes: encode(next) }, event],
    deletes: alive ? [alive.key] : [],
  };
}

function answer(env: NodeEnv, entry: Entry): RouteResult {
  const { metadata, name } = value<StoredNode>(entry);
  const status = env.cache.get(keys.nodeStatus(metadata.tenant, name));
  const view = toNodeResponse(env, entry, status);
  return replyJson(200, { ...view, alterations: [], warnings: [] }, buildEtagHeader(entry.revision));
}
