import { expect } from 'chai';

import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient } from '../lab/tenant-client.js';
import { until } from '../../dev/testing/index.js';

describe('the life of a deployment, on a real engine', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let bank: TenantClient;
  let image: string;

  before(async () => {
    plane = await ControlPlane.start();
    fleet = await Fleet.start(plane);
    [shop, bank] = await Promise.all([TenantClient.open(plane, 'shop'), TenantClient.open(plane, 'bank')]);
    image = await fleet.image('1');
    await Promise.all([
      fleet.enrol(shop.client, 'shop-1'),
      fleet.enrol(shop.client, 'shop-2'),
      fleet.enrol(bank.client, 'bank-1'),
    ]);
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  const web = () => ({
    name: 'web',
    image,
    replicas: 2,
    healthCheck: { type: 'exec', command: ['wget -q -O /dev/null http://127.0.0.1:8080/'], interval: '1s' },
    environment: { MODE: 'story' },
  });

  it('[3.3] starts, spread over the tenant’s machines, and becomes healthy', async () => {
    await shop.apply(web());
    const { status } = await shop.reaches('web', 'Running');

    expect(status?.readyReplicas).to.equal(2);
    expect(new Set(status?.placements.map(({ nodeId }) => nodeId)).size).to.equal(2);
    const running = await fleet.view.running('web');
    expect(running.map(({ name }) => name).sort()).to.deep.equal(['shop-1-web', 'shop-2-web.1']);
    expect(running.every(({ status: health }) => health.includes('(healthy)'))).to.equal(true);
  });

  it('[3.22] runs beside a deployment of the same name of another tenant', async () => {
    await bank.apply({ ...web(), replicas: 1 });
    const { status } = await bank.reaches('web', 'Running');

    expect(status?.placements).to.have.length(1);
    const owners = (await fleet.view.running('web')).map(({ labels }) => labels['mooring.io/tenant']);
    expect(owners.filter(owner => owner === bank.id)).to.have.length(1);
    expect(owners.filter(owner => owner === shop.id)).to.have.length(2);
  });

  it('scales up and down without touching what stays', async () => {
    const first = (await fleet.view.running('web')).find(({ name }) => name === 'shop-1-web');
    await shop.change('web', { replicas: 4 });
    expect((await shop.reaches('web', 'Running')).status?.readyReplicas).to.equal(4);
    await shop.change('web', { replicas: 1 });
    await shop.reaches('web', 'Running');
    await until('the surplus to be gone', async () => {
      const mine = (await fleet.view.containers()).filter(({ labels }) => labels['mooring.io/tenant'] === shop.id);
      return mine.length === 1 && mine[0]?.id === first?.id;
    });
  });

  it('[2.3.3] rolls a changed image one replica after the other, each when one more is healthy', async () => {
    await shop.change('web', { replicas: 3 });
    await shop.reaches('web', 'Running');
    const second = await fleet.image('2');
    const seen = new Set<number>();
    let rolling = true;
    const watching = (async () => {
      while (rolling)
        seen.add(
          (await fleet.view.running('web')).filter(({ labels }) => labels['mooring.io/tenant'] === shop.id).length,
        );
    })();
    await shop.change('web', { image: second });
    await shop.reaches('web', 'Running', 90_000);
    rolling = false;
    await watching;

    expect(Math.min(...seen)).to.equal(3);
    expect(Math.max(...seen)).to.equal(4);
    await until('the last old one to be gone', async () => {
      const mine = (await fleet.view.running('web')).filter(({ labels }) => labels['mooring.io/tenant'] === shop.id);
      return mine.length === 3 && mine.every(({ image: now }) => now === second);
    });
  });

  it('[2.2.14 3.12] stops without being deleted, and starts again', async () => {
    await shop.change('web', { replicas: 0 });
    await shop.reaches('web', 'Stopped');
    await shop.change('web', { replicas: 1 });
    await shop.reaches('web', 'Running');
  });

  it('[3.10 4.24 6.2 6.4] says why every node refuses it', async () => {
    await shop.apply({ ...web(), name: 'huge', resources: { memory: '900Gi' } });
    const { status } = await shop.reaches('huge', 'Unschedulable');
    expect(status?.message).to.match(/^0 of 2 nodes: 2 resources/);

    const events = await shop.client.all<{
      type: string;
      data: { candidates: { node: string; reasons: { filter: string }[] }[] };
    }>('/api/v1/events', { query: { type: 'deployment.unschedulable' } });
    const [event] = events.ok ? events.value.items : [];
    expect(event?.data.candidates.map(({ node }) => node)).to.deep.equal(['shop-1', 'shop-2']);
    expect(
      event?.data.candidates.every(({ reasons }) => reasons.some(({ filter }) => filter === 'resources')),
    ).to.equal(true);
    await shop.remove('huge');
  });

  it('leaves nothing behind when it is deleted', async () => {
    await shop.remove('web');
    await bank.remove('web');
    expect(await fleet.view.containers()).to.deep.equal([]);

    const left = (await plane.storedKeys()).map(key => key.split('/')[0] as string);
    expect(
      left.filter(kind => ['deployments', 'replicas', 'reports', 'status', 'scheduling'].includes(kind)),
    ).to.deep.equal([]);
  });
});
