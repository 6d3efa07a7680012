import { expect } from 'chai';

import type { Metadata } from '../../crds/meta/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { type ShownDeployment, TenantClient, unwrap } from '../lab/tenant-client.js';
import { until } from '../../dev/testing/index.js';

interface Explanation {
  readonly candidates: readonly { readonly node: string; readonly reasons: readonly { readonly filter: string }[] }[];
}

describe('residency, on real engines in two countries', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let image: string;

  before(async () => {
    plane = await ControlPlane.start();
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    image = await fleet.image('1');
    await Promise.all([
      fleet.enrol(shop.client, 'berlin', { 'mooring.io/country': 'DE' }),
      fleet.enrol(shop.client, 'hamburg', { 'mooring.io/country': 'DE' }),
      fleet.enrol(shop.client, 'boston', { 'mooring.io/country': 'US' }),
    ]);
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  const listNodes = async ({ status }: ShownDeployment) => {
    const { items } = unwrap(await shop.client.all<{ id: string; name: string }>('/api/v1/nodes'));
    return status?.placements.map(({ nodeId }) => items.find(({ id }) => id === nodeId)?.name).sort();
  };

  it('[2.7.4] keeps a deployment in its country, and in a region', async () => {
    await shop.apply({ name: 'local', image, replicas: 2, placement: { residency: { country: 'de' } } });
    expect(await listNodes(await shop.reaches('local', 'Running'))).to.deep.equal(['berlin', 'hamburg']);

    await shop.apply({ name: 'overseas', image, replicas: 2, placement: { residency: { region: 'us' } } });
    expect(await listNodes(await shop.reaches('overseas', 'Running'))).to.deep.equal(['boston', 'boston']);
  });

  it('[2.7.18 4.24] lets what matches nothing wait, says why of every node, and starts it when a node comes', async () => {
    const stored = await shop.apply({ name: 'swiss', image, placement: { residency: { country: 'CH' } } });
    expect(JSON.stringify(stored)).to.include('residency_no_matching_node');
    await shop.reaches('swiss', 'Waiting');
    const { candidates } = await unschedulable();
    expect(candidates.map(({ node }) => node)).to.deep.equal(['berlin', 'boston', 'hamburg']);
    expect(candidates.every(({ reasons }) => reasons.some(({ filter }) => filter === 'residency'))).to.equal(true);

    await fleet.enrol(shop.client, 'zurich', { 'mooring.io/country': 'CH' });
    const [container] = await until('swiss to run', async () => {
      const found = await fleet.view.running('swiss');
      return found.length === 1 && found;
    });
    const { metadata } = unwrap(await shop.client.request<{ metadata: Metadata }>('GET', '/api/v1/nodes/zurich'));
    const took = Date.parse(await fleet.view.startedAt(container!.id)) - Date.parse(metadata.createdAt);
    console.log(`      started ${took} ms after the node enrolled`);
    expect(await listNodes(await shop.reaches('swiss', 'Running'))).to.deep.equal(['zurich']);
  });

  it('[2.2.28] waits for a dependency to be healthy before it starts', async () => {
    await shop.apply({ name: 'front', image, dependsOn: [{ name: 'back', condition: 'healthy' }] });
    await shop.reaches('front', 'Waiting');
    expect(await fleet.view.running('front')).to.deep.equal([]);

    const command = ['wget -q -O /dev/null http://127.0.0.1:8080/'];
    await shop.apply({ name: 'back', image, healthCheck: { type: 'exec', command, interval: '1s' } });
    await shop.reaches('front', 'Running');
  });

  async function unschedulable(): Promise<Explanation> {
    const query = { type: 'deployment.unschedulable' };
    const { items } = unwrap(
      await shop.client.all<{ subject: { name: string }; data: Explanation }>('/api/v1/events', { query }),
    );
    const event = items.find(({ subject }) => subject.name === 'swiss');
    if (!event) throw new Error('there is no event of it');
    return event.data;
  }
});
