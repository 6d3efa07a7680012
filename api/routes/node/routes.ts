import { keys } from '../../../crds/keys/index.js';
import {
  checkJoinTokenRequest,
  nodeKind,
  type NodeOrder,
  type NodeOrders,
  type StoredNode,
} from '../../../crds/node/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route } from '../../http/route.js';
import { readAuthorityPin } from '../../http/tls.js';
import { write, type Writing } from '../../write/write.js';
import { defineTokenCreation } from '../token/routes.js';
import { createNodeClaimRoutes } from './claims.js';
import { enrolment } from './enrol.js';
import { listNodeReplicas } from './replicas.js';
import { findNodeEntry, type NodeEnv, toNodeResponse } from './view.js';

const JOIN_SECONDS = 15 * 60;
const NODES = nodeKind.path;

/** Nodes: the machines that tenants have enrolled, and the orders of administrators about them. */
export function createNodeRoutes(env: NodeEnv): readonly Route[] {
  const order = (name: keyof typeof ORDER_EVENTS, update: UpdateOrders) => {
    const writing = defineOrder(name, update);
    const more = { body: 'none', grows: false } as const;
    return defineRoute('admin', 'POST', `${NODES}/{id}/${name}`, call => write(env, call, writing), more);
  };
  return [
    defineRoute('admin', 'POST', `${NODES}/join-tokens`, call => write(env, call, joinToken)),
    defineRoute({ join: true }, 'POST', NODES, call => write(env, call, enrolment), { query: [] }),
    defineRoute('viewer', 'GET', `${NODES}/{id}/replicas`, call => listNodeReplicas(env, call)),
    order('drain', drain),
    order('undrain', undrain),
    order('fence', fence),
    ...createNodeClaimRoutes(env),
  ];
}

const joinToken = defineTokenCreation<NodeEnv>(
  ({ tenant, document, caller }) => {
    const checked = checkJoinTokenRequest(document);
    if (!checked.ok) return new RequestRejection(checked.rejections);
    const { nodeName } = checked.value;
    return {
      kind: 'join',
      tenant,
      description: nodeName === undefined ? 'joins one node' : `joins the node ${nodeName}`,
      createdBy: caller.id,
      lifeSeconds: JOIN_SECONDS,
      ...(nodeName !== undefined && { nodeName }),
      ...(caller.kind === 'admin' && { platform: true as const }),
    };
  },
  ({ settings }) => {
    const caFingerprint = readAuthorityPin(settings);
    return caFingerprint === undefined ? {} : { caFingerprint };
  },
);

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

function defineOrder(
  name: keyof typeof ORDER_EVENTS,
  update: UpdateOrders,
): Writing<NodeEnv, undefined, NodeOrders | undefined> {
  return {
    name: 'node',
    find: findNodeEntry,
    judge: ({ call, stored, now }) => update(value<StoredNode>(stored!), { by: call.caller.id, since: now }),
    plan: ({ call, stored, now }, orders, { cache }) => {
      const { orders: before, ...node } = value<StoredNode>(stored!);
      const tried = { before: { orders: before ?? {} }, after: { orders: orders ?? {} } };
      if (orders === undefined || orders === before) return tried;
      const { tenant, generation } = node.metadata;
      const metadata = { ...node.metadata, generation: generation + 1, updatedAt: now };
      const next: StoredNode = { ...node, metadata, ...(Object.keys(orders).length > 0 && { orders }) };
      // A fenced machine is off: its presence ends with the order, not only with its lease.
      const alive = orders.fence && !before?.fence ? cache.get(keys.alive(tenant, node.name)) : undefined;
      return {
        ...tried,
        record: { key: stored!.key, bytes: encode(next) },
        guards: alive ? [{ key: alive.key, at: alive.revision }] : [],
        deletes: alive ? [alive.key] : [],
        events: [toOrderEvent(next, name, call)],
      };
    },
    show: (env, node) => {
      const { metadata, name: nodeName } = value<StoredNode>(node);
      return toNodeResponse(env, node, env.cache.get(keys.nodeStatus(metadata.tenant, nodeName)));
    },
  };
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
