import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NetworkStatus, StoredNetwork } from '../../crds/network/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import { value } from '../../pkg/store/index.js';
import { type SimCluster, TENANTS } from './cluster.js';
import type { History, Invariant } from './history.js';

/** The network that deployments join. Each tenant has one at most, on one machine after the other. */
export const LAN = 'lan';
const NETWORKS = '/api/v1/networks';

/** Tenants create and delete their network, and people on the machines remove one, every few seconds until `until`. */
export function useNetworks(cluster: SimCluster, until: number): void {
  const { world, machines } = cluster;
  const { networks: pace = 1 } = cluster.pace;
  world.after(world.between(1_000, 6_000) / pace, 'a network is wanted', () => {
    if (world.time >= until) return;
    const tenant = world.pick(TENANTS);
    const about = { tenant, params: { name: LAN } };
    if (world.chance(0.2)) void cluster.ask({ ...about, method: 'DELETE', path: `${NETWORKS}/{name}` });
    else if (world.chance(0.3)) removeByHand(cluster);
    else {
      const document = { name: LAN, nodeId: world.pick(machines).name, internal: world.chance(0.5) };
      void cluster.ask({ ...about, method: 'POST', path: NETWORKS, document });
    }
    useNetworks(cluster, until);
  });
}

function removeByHand({ world, machines }: SimCluster): void {
  const { networks } = world.pick(machines).engine;
  if (networks.specs.length > 0) networks.drop(world.pick(networks.specs).name);
}

/** An agent hears of a network at once, and looks every 30 seconds whether it is still there. */
const HEARD_WITHIN_MS = 20_000;
const REPAIRED_WITHIN_MS = 60_000;

/** While nothing goes wrong: a network that comes is made, one that is removed by hand is made again, and one that is deleted goes. */
export async function expectNetworksKept(cluster: SimCluster, history: History, inspect: () => void): Promise<void> {
  const { world, machines } = cluster;
  const { id: nodeId, name, metadata } = world.pick(history.all<StoredNode>(ranges.nodes));
  const { engine } = machines.find(machine => machine.name === name)!;
  const about = { tenant: metadata.tenant, params: { name: 'late' } };
  const asked = cluster.ask({ ...about, method: 'POST', path: NETWORKS, document: { name: 'late', nodeId } });
  await world.pass(2_000, inspect);
  const made = await asked;
  if (made.told !== 'stored') throw new Error('a network is refused');
  const { uid } = made.body['metadata'] as { readonly uid: string };
  const own = `mooring-${metadata.tenant}-${uid}`;
  const isThere = () => engine.networks.specs.some(spec => spec.name === own);
  const wait = async (withinMs: number, isWanted: boolean, what: string) => {
    for (const from = world.time; isThere() !== isWanted; ) {
      if (world.time - from > withinMs) throw new Error(`${what} on ${name}`);
      await world.pass(500, inspect);
    }
  };
  await wait(HEARD_WITHIN_MS, true, 'a network that came later is not');
  engine.networks.drop(own);
  await wait(REPAIRED_WITHIN_MS, true, 'a network that was removed by hand is not');
  void cluster.ask({ ...about, method: 'DELETE', path: `${NETWORKS}/{name}` });
  await wait(HEARD_WITHIN_MS, false, 'a network that was deleted is still');
}

/** No network goes while a deployment joins it. */
export const keepsNetworks: Invariant = (changes, history) => {
  for (const { key, before, entry } of changes) {
    if (!key.startsWith(ranges.networks) || !before || entry) continue;
    const { name, metadata } = value<StoredNetwork>(before);
    const joined = history
      .all<StoredDeployment>(ranges.of(ranges.deployments, metadata.tenant))
      .filter(({ networks = [] }) => networks.includes(name));
    expect(
      joined.map(each => each.name),
      `deployments on ${name}, which goes`,
    ).to.deep.equal([]);
  }
};

/** Whether a node has every network that a deployment joins. */
export function hasNetworks(
  { networks = [], metadata }: StoredDeployment,
  { id }: StoredNode,
  history: History,
): boolean {
  return networks.every(name => history.get<StoredNetwork>(keys.network(metadata.tenant, name))?.nodeId === id);
}

/** Throws unless every engine has the networks of its node and no others, and each status says so. */
export function expectNetworks({ machines }: SimCluster, history: History): void {
  const networks = history.all<StoredNetwork>(ranges.networks);
  const nodes = history.all<StoredNode>(ranges.nodes);
  for (const { name, engine } of machines) {
    const own = nodes.find(node => node.name === name);
    const wanted = networks.filter(({ nodeId }) => nodeId === own?.id);
    const found = engine.networks.specs.map(spec => spec.name);
    const names = wanted.map(({ metadata: { tenant, uid } }) => `mooring-${tenant}-${uid}`);
    expect(found.toSorted(), `networks on ${name}`).to.deep.equal(names.toSorted());
    const apart = engine.containers.filter(({ lacksNetworks }) => lacksNetworks);
    expect(apart.length, `containers on ${name} that are not on their networks`).to.equal(0);
  }
  const statuses = history.all<NetworkStatus>(ranges.networkStatuses).map(({ uid, state }) => `${uid} ${state}`);
  const expected = networks.map(({ nodeId, metadata: { uid } }) => {
    return `${uid} ${nodes.some(({ id }) => id === nodeId) ? 'ready' : 'failed'}`;
  });
  expect(statuses.toSorted(), 'statuses of networks').to.deep.equal(expected.toSorted());
}
