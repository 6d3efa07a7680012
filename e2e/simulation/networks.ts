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
