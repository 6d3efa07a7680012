import { keys } from '../../crds/keys/index.js';
import type { NodeOrders, StoredNode } from '../../crds/node/index.js';
import { encode, type Store, value } from '../../pkg/store/index.js';
import { type Cluster, COUNTRY, type Machine } from './cluster.js';

const ORDER = { by: 'operator', since: '2030-01-01T00:00:00.000Z' };

/** Operators empty nodes for a while, switch machines off and take them abroad, every few seconds until `until`. */
export function orderNodes(cluster: Cluster, until: number): void {
  const { world } = cluster;
  world.after(world.between(5_000, 25_000), 'an operator orders', () => {
    if (world.time >= until) return;
    const machine = world.pick(cluster.machines);
    world.pick([drain, drain, switchOff, moveAbroad, moveAbroad])(cluster, machine);
    orderNodes(cluster, until);
  });
}

/** Takes back every order, at once and without fail. */
export async function endOrders({ server, machines }: Cluster): Promise<void> {
  for (const { node } of machines) while (!(await amend(server, node, () => ({}))));
}

function drain(cluster: Cluster, { node }: Machine): void {
  const { world } = cluster;
  give(cluster, node, orders => ({ ...orders, drain: ORDER }));
  world.after(world.between(2_000, 20_000), 'a node may be used again', () =>
    give(cluster, node, ({ fence }) => ({ ...(fence && { fence }) })),
  );
}

/** The agent is restarted with other labels; its containers go on. */
function moveAbroad({ world }: Cluster, { labels, seat }: Machine): void {
  labels[COUNTRY] = labels[COUNTRY] === 'DE' ? 'FR' : 'DE';
  seat.restart(world.between(100, 3_000));
}

/** Containers and agent stop, and a moment later somebody says so. */
function switchOff(cluster: Cluster, { node, engine, seat }: Machine): void {
  const { world } = cluster;
  engine.restart();
  seat.restart(world.between(10_000, 40_000));
  world.after(world.between(100, 5_000), 'a machine is fenced', () =>
    give(cluster, node, orders => ({ ...orders, fence: ORDER })),
  );
}

/** As an API server does it: through its own connection, which may fail. */
function give({ world, servers }: Cluster, node: Machine['node'], change: (orders: NodeOrders) => NodeOrders): void {
  const answering = servers.filter(({ life }) => life.alive);
  if (answering.length === 0) return;
  void amend(world.pick(answering).store, node, change).catch(() => undefined);
}

async function amend(
  store: Store,
  { tenant, name }: Machine['node'],
  change: (orders: NodeOrders) => NodeOrders,
): Promise<boolean> {
  const [entry, alive] = [await store.get(keys.node(tenant, name)), await store.get(keys.alive(tenant, name))];
  if (!entry) return true;
  const { orders = {}, ...node } = value<StoredNode>(entry);
  const next = change(orders);
  const isFenced = next.fence && !orders.fence && alive;
  const amended: StoredNode = { ...node, ...(Object.keys(next).length > 0 && { orders: next }) };
  const verdict = await store.commit({
    guards: [{ key: entry.key, at: entry.revision }, ...(isFenced ? [{ key: alive.key, at: alive.revision }] : [])],
    puts: [{ key: entry.key, bytes: encode(amended) }],
    deletes: isFenced ? [alive.key] : [],
  });
  return verdict.stored;
}
