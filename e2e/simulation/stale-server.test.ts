import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { History } from './history.js';
import { SimCluster, TENANTS } from './cluster.js';
import { invariants } from './invariants.js';
import { expectConverged, inspectContainers } from './inspection.js';

const [TENANT] = TENANTS;
const AT = '2030-01-01T00:00:00.000Z';

describe('a server that has lost the store', () => {
  it('does not bring back, on a restarted agent, what has moved on meanwhile', async () => {
    const cluster = new SimCluster(1);
    const history = new History(cluster.server, invariants);
    const { world } = cluster;
    const inspect = () => {
      history.inspect();
      inspectContainers(cluster, history);
    };
    const readNodeId = (name: string) => history.get<StoredNode>(keys.node(TENANT, name))!.id;
    const wantOn = (nodeId: string, generation: number) => {
      const metadata = { tenant: TENANT, uid: 'dep_1', generation, createdAt: AT, updatedAt: AT, specHash: '' };
      const web = { metadata, kind: 'Deployment', name: 'web', image: 'web:1', replicas: 1, secretsVersion: 0, nodeId };
      return cluster.put(keys.deployment(TENANT, 'web'), web);
    };
    const seat = (name: string) => cluster.seats.find(each => each.name === name)!;

    await cluster.begin();
    await world.pass(3_000, inspect);
    await wantOn(readNodeId('a1'), 1);
    await world.pass(3_000, inspect);
    seat('api-1').restart(2_000); // so that every agent listens to the other one
    await world.pass(5_000, inspect);

    seat('api-1').life?.isolate(120_000, ['store']);
    await wantOn(readNodeId('a2'), 2);
    // An agent that listens to the first one all the same hears of it when that has been cut off for a while.
    const placed = () => history.all<Replica>(ranges.replicas).map(({ nodeId }) => nodeId);
    const isMoved = () => placed().join() === readNodeId('a2');
    for (let second = 0; second < 60 && !isMoved(); second++) await world.pass(1_000, inspect);
    expect(isMoved(), 'the replica is on the other machine').to.equal(true);

    seat('api-2').life?.kill(); // the one that is left still believes in the first machine
    seat('agent-a1').restart(10);
    await world.pass(30_000, inspect);
    cluster.start();
    await world.pass(120_000, inspect);
    expectConverged(cluster, history);
  });
});
