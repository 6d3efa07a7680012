import { keys } from '../../../crds/keys/index.js';
import type { NodeOrder, NodeOrders, StoredNode } from '../../../crds/node/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { type Change, encode, type Entry, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../admission/dry-run.js';
import type { ApiCall } from '../../http/call.js';
import { retryOnConflict, waitUntilCached } from '../../http/concurrency.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { etagHeader, replyJson } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { findNode, toNodeResponse, type NodeEnv } from './view.js';

/** The same orders when nothing is to be written. */
type Amend = (node: StoredNode, order: NodeOrder) => NodeOrders | undefined | RequestRejection;

/** Orders of an administrator about an enrolled node: drain, undrain, fence. */
export function nodeOrderRoutes(env: NodeEnv): readonly Route[] {
  const route = (order: string, amend: Amend): Route => ({
    method: 'POST',
    path: `/api/v1/nodes/{id}/${order}`,
    access: { tenant: 'admin', admin: true },
    tenant: 'own',
    query: WRITE_QUERY,
    body: 'none',
    handle: call => give(env, call, amend),
  });
  return [route('drain', drain), route('undrain', undrain), route('fence', fence)];
}

const drain: Amend = ({ orders }, order) => (orders?.drain ? orders : { ...orders, drain: order });

const undrain: Amend = ({ orders }) => {
  const { drain: ended, ...rest } = orders ?? {};
  return ended ? rest : orders;
};

const fence: Amend = ({ orders, controlPlane, name }, order) => {
  if (controlPlane) return new RequestRejection(reject('node_is_control_plane', 'id', name));
  return orders?.fence ? orders : { ...orders, fence: order };
};

async function give(env: NodeEnv, call: ApiCall, amend: Amend): Promise<RouteResult> {
  const isDryRun = readFlag(call.query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const order = { by: call.caller.id, since: new Date(env.clock.now()).toISOString() };
  return retryOnConflict(call.params['id']!, async () => {
    const entry = await findNode(env, call);
    if (entry instanceof RequestRejection) return entry;
    const node = value<StoredNode>(entry);
    const orders = amend(node, order);
    if (orders instanceof RequestRejection) return orders;
    if (isDryRun) return replyDryRun({ before: { orders: node.orders ?? {} }, after: { orders: orders ?? {} } });
    if (orders === undefined || orders === node.orders) return answer(env, entry);

    const verdict = await env.store.commit(changeFor(env, entry, orders));
    if (!verdict.stored) return undefined;
    await waitUntilCached(env.cache, verdict.revision);
    return answer(env, env.cache.get(entry.key) ?? entry);
  });
}

/** A fenced machine is off: its presence ends with the order, not only with its lease. */
function changeFor({ cache, clock }: NodeEnv, entry: Entry, orders: NodeOrders): Change {
  const { orders: before, ...node } = value<StoredNode>(entry);
  const { tenant, generation } = node.metadata;
  const metadata = {
    ...node.metadata,
    generation: generation + 1,
    updatedAt: new Date(clock.now()).toISOString(),
  };
  const amended: StoredNode = { ...node, metadata, ...(Object.keys(orders).length > 0 && { orders }) };
  const alive = orders.fence && !before?.fence ? cache.get(keys.alive(tenant, node.name)) : undefined;
  return {
    guards: [{ key: entry.key, at: entry.revision }, ...(alive ? [{ key: alive.key, at: alive.revision }] : [])],
    puts: [{ key: entry.key, bytes: encode(amended) }],
    deletes: alive ? [alive.key] : [],
  };
}

function answer(env: NodeEnv, entry: Entry): RouteResult {
  const { metadata, name } = value<StoredNode>(entry);
  const status = env.cache.get(keys.nodeStatus(metadata.tenant, name));
  const view = toNodeResponse(env, entry, status);
  return replyJson(200, { ...view, alterations: [], warnings: [] }, etagHeader(entry.revision));
}
