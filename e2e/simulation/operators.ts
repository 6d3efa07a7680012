import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import { value } from '../../pkg/store/index.js';
import { type SimCluster, UNDER_WAY_MS } from './cluster.js';
import { askForCopy } from './copies.js';
import type { History } from './history.js';
import { COUNTRY, type Machine } from './machine.js';

type Order = 'drain' | 'undrain' | 'fence';

/** Operators empty nodes for a while, switch machines off and take them abroad, every few seconds until `until`. */
export function orderNodes(cluster: SimCluster, until: number): void {
  const { world } = cluster;
  const { orders: pace = 1 } = cluster.pace;
  world.after(world.between(5_000, 25_000) / pace, 'an operator orders', () => {
    if (world.time >= until) return;
    const machine = world.pick(cluster.machines);
    world.pick([drain, drain, switchOff, moveAbroad, moveAbroad])(cluster, machine);
    orderNodes(cluster, until);
  });
}

/** Takes back every order that stands. One that is still under way may come later. */
export async function endOrders(cluster: SimCluster): Promise<void> {
  for (const { name } of cluster.machines) {
    const owner = await cluster.ownerOf(name);
    const entry = owner && (await cluster.server.get(keys.node(owner, name)));
    if (!entry) continue;
    const { orders, ...node } = value<StoredNode>(entry);
    if (orders) await cluster.put(entry.key, node);
  }
}

/** Has a node emptied, for a while. */
export function drain(cluster: SimCluster, machine: Machine, forMs = cluster.world.between(2_000, 20_000)): void {
  void order(cluster, machine, 'drain');
  cluster.world.after(forMs, 'a node may be used again', () => void order(cluster, machine, 'undrain'));
}

/** The agent is restarted with other labels; its containers go on. */
function moveAbroad({ world }: SimCluster, { labels, seat }: Machine): void {
  labels[COUNTRY] = labels[COUNTRY] === 'DE' ? 'FR' : 'DE';
  seat.restart(world.between(100, 3_000));
}

/** A machine is switched off, and a moment later an administrator says so: it comes back a while after that is stored, or never will be. */
export function switchOff(
  cluster: SimCluster,
  machine: Machine,
  { fenceAfterMs = cluster.world.between(100, 5_000), backAfterMs = cluster.world.between(0, 30_000) } = {},
): void {
  const { world } = cluster;
  if (machine.isOff) return;
  machine.switchOff();
  const switchOn = () => machine.switchOn();
  world.after(fenceAfterMs, 'a machine is fenced', () => {
    void order(cluster, machine, 'fence').then(() =>
      world.after(UNDER_WAY_MS + backAfterMs, 'power comes back', switchOn),
    );
  });
}

/** So long a volume is told to be behind: every agent that is there has reported by then. */
const TOLD_MS = 30_000;

/**
 * Does for each volume whose copies are ahead of a restored store what the guide says (docs/OPERATIONS.md): once all nodes are back and one
 * of the highest epoch is the primary, its status goes, and is made good from what the agents tell. Where none of them was, a copy is asked
 * for on the other nodes that have bytes of it: the store does not know them.
 */
export function haveAgentsTell(cluster: SimCluster, history: History): void {
  const { server, world, machines } = cluster;
  const behind = history
    .entries(ranges.volumeStatuses)
    .filter(entry => value<VolumeStatus>(entry).reason === 'volume_epoch_behind');
  for (const { key, revision } of behind) {
    const [tenant = '', id = ''] = splitKey(key);
    const { since } = history.get<VolumeStatus>(key)!;
    if (world.clock.now() - Date.parse(since) < TOLD_MS) continue;
    const reports = history.all<VolumeReport>(ranges.volumeReportsOf(tenant, id));
    const highest = Math.max(...reports.map(({ epoch = 0 }) => epoch));
    const primaries = reports.filter(({ epoch, role }) => epoch === highest && role === 'primary');
    if (primaries.length === 1) void server.commit({ guards: [{ key, at: revision }], puts: [], deletes: [key] });
    if (primaries.length > 0) continue;
    const known = reports.map(({ nodeId }) => history.node(nodeId)?.name);
    const others = machines.filter(({ name, disk }) => disk.held.has(id) && !known.includes(name));
    for (const { name } of others) void askForCopy(cluster, { tenant, id }, name);
  }
}

async function order(cluster: SimCluster, { name }: Machine, what: Order): Promise<void> {
  const tenant = await cluster.ownerOf(name);
  if (tenant === undefined) return;
  await cluster.ask({ method: 'POST', path: `/api/v1/nodes/{id}/${what}`, tenant, params: { id: name } });
}
