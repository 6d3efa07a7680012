import type { StoredToken } from '../../crds/tenant/index.js';
import { type SimCluster, TENANTS } from './cluster.js';
import type { Machine } from './machine.js';
import { drain } from './operators.js';

const CLAIMS = '/api/v1/nodes/{nodeName}/claims';
const CLAIM = '/api/v1/nodes/{nodeName}/claim';

/** Machines change hands, or nearly, every few seconds until `until`. */
export function exchangeMachines(cluster: SimCluster, until: number): void {
  const { world } = cluster;
  const { machines: pace = 1 } = cluster.pace;
  world.after(world.between(4_000, 20_000) / pace, 'a machine changes hands', () => {
    if (world.time >= until) return;
    world.pick([sell, sell, abandon, compete, compete])({ cluster, machine: world.pick(cluster.machines), until });
    exchangeMachines(cluster, until);
  });
}

/** Enrols every machine's agent for its present owner. To be repeated: a change of owner may be under way. */
export async function settleOwners(cluster: SimCluster): Promise<void> {
  for (const machine of cluster.machines) {
    const owner = await cluster.ownerOf(machine.name);
    const { tenant } = JSON.parse(machine.joinToken) as StoredToken;
    if (owner === undefined || owner === tenant) continue;
    machine.joinToken = await cluster.joinToken(owner);
    machine.seat.restart(10);
  }
}

/** A machine that is to change hands, in time. */
interface Handover {
  readonly cluster: SimCluster;
  readonly machine: Machine;
  readonly until: number;
}

const other = (tenant: string) => TENANTS.find(each => each !== tenant)!;

/** The platform grants a second claim, the owner empties the machine and lets go, and the other tenant moves in. */
function sell(deal: Handover): void {
  const { cluster, machine } = deal;
  const { world } = cluster;
  void cluster.ownerOf(machine.name).then((owner = world.pick(TENANTS)) => {
    void claim(cluster, machine, other(owner));
    drain(cluster, machine, 30_000);
    letGo(deal, owner, world.between(1_000, 10_000));
    letGo(deal, owner, world.between(3_000, 12_000));
    moveIn(deal, other(owner), world.between(2_000, 15_000));
  });
}

/** The agent is gone for so long that the owner may let go of what runs there. */
function abandon(deal: Handover): void {
  const { cluster, machine } = deal;
  const { world } = cluster;
  machine.seat.restart(world.between(17_000, 30_000));
  void cluster.ownerOf(machine.name).then((owner = world.pick(TENANTS)) => {
    if (world.chance(0.5)) void claim(cluster, machine, other(owner));
    letGo(deal, owner, world.between(15_500, 25_000));
    if (world.chance(0.7)) moveIn(deal, other(owner), world.between(16_000, 30_000));
  });
}

/** Both claim it and both let go of it, all at the same time. */
function compete({ cluster, machine }: Handover): void {
  const { world } = cluster;
  for (const tenant of TENANTS) {
    void claim(cluster, machine, tenant);
    if (world.chance(0.7)) void release(cluster, machine, tenant);
  }
  void claim(cluster, machine, world.pick(TENANTS));
}

function letGo({ cluster, machine, until }: Handover, owner: string, afterMs: number): void {
  const { world } = cluster;
  world.after(afterMs, 'an owner lets go', () => {
    if (world.time < until) void release(cluster, machine, owner);
  });
}

/** A tenant's people set the agent up with a join token of theirs, whether the machine is theirs or not. */
function moveIn({ cluster, machine, until }: Handover, tenant: string, afterMs: number): void {
  const { world } = cluster;
  world.after(afterMs, 'a tenant moves in', () => {
    if (world.time >= until) return;
    void cluster.joinToken(tenant).then(token => {
      machine.joinToken = token;
      machine.seat.restart(world.between(100, 2_000));
    });
  });
}

function claim(cluster: SimCluster, { name: nodeName }: Machine, tenant: string) {
  return cluster.ask({ method: 'POST', path: CLAIMS, tenant, params: { nodeName } });
}

function release(cluster: SimCluster, { name: nodeName }: Machine, tenant: string) {
  const headers = { 'x-tenant-id': tenant };
  return cluster.ask({ method: 'DELETE', path: CLAIM, tenant, params: { nodeName }, headers });
}
