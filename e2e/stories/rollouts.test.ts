import { expect } from 'chai';

import type { ArchivedRevision } from '../../crds/archive/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { findFreePort } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';
import { TRAFFIC_ADDRESSES, withTraffic } from '../lab/traffic.js';

describe('a rollout, on a real engine', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let port: number;

  before(async () => {
    plane = await ControlPlane.start();
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    port = await findFreePort();
    await Promise.all(
      Object.entries(TRAFFIC_ADDRESSES).map(([name, address]) =>
        fleet.enrol(shop.client, name, {}, { flags: [`--host-port-address=${address}`] }),
      ),
    );
    await shop.apply({
      name: 'web',
      image: await fleet.image('1'),
      replicas: 2,
      ports: [{ containerPort: 8080, hostPort: port }],
      healthCheck: { type: 'exec', command: ['wget -q -O /dev/null http://127.0.0.1:8080/'], interval: '1s' },
      rollout: { progressDeadline: '10s' },
      // A load balancer needs a moment to hear that a replica leaves.
      preStop: ['sleep', '5'],
      stopGracePeriod: '20s',
    });
    await shop.reaches('web', 'Running');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  const underTraffic = (roll: () => Promise<void>) => withTraffic(shop, port, roll);
  const images = async () => (await fleet.view.running('web')).map(({ image }) => image);
  const events = async (type: string) =>
    unwrap(await shop.client.all<StoredEvent>('/api/v1/events', { query: { type } })).items;

  it('loses no request when the new image is good', async () => {
    const second = await fleet.image('2');
    await underTraffic(async () => {
      await shop.change('web', { image: second });
      await until('only new containers', async () => {
        const running = await images();
        return running.length === 2 && running.every(image => image === second);
      });
      await shop.reaches('web', 'Running');
    });
  });

  it('goes back by itself, without losing a request, when the health check of the new one fails', async () => {
    const before = await shop.show('web');
    const failing = { type: 'exec', command: ['echo no page; false'], interval: '1s' };
    await underTraffic(async () => {
      await shop.change('web', { healthCheck: failing });
      await until('the rollback', async () => (await shop.show('web')).metadata.generation === 4);
      await shop.reaches('web', 'Running');
    });

    const after = await shop.show('web');
    expect(after.healthCheck).to.deep.equal(before.healthCheck);
    expect(after.metadata.specHash).to.equal(before.metadata.specHash);
    expect(after.status?.rollout?.failure).to.deep.include({ revision: 3, rolledBackTo: 2 });
    expect(after.status?.rollout?.failure?.output).to.include('no page');
    expect(await events('deployment.rollout_failed')).to.have.length(1);
    expect(await events('deployment.rolled_back')).to.have.length(1);
    const { revisions } = unwrap(
      await shop.client.request<{ revisions: ArchivedRevision[] }>('GET', '/api/v1/archives/deployments/web'),
    );
    expect(revisions.map(({ change }) => change)).to.deep.equal(['create', 'update', 'update', 'rollback']);
  });
});
