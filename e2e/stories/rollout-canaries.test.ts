import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { findFreePort } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';
import { TRAFFIC_ADDRESSES, withTraffic } from '../lab/traffic.js';

const PATIENCE_MS = 180_000;

describe('a canary, on a real engine', function () {
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
      rollout: { canary: { replicas: 1 } },
      preStop: ['sleep', '5'],
      stopGracePeriod: '20s',
    });
    await shop.reaches('web', 'Running');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  const images = async () => (await fleet.view.running('web')).map(({ image }) => image).sort();
  const runs = (...wanted: readonly string[]) =>
    until(
      `containers of ${wanted.join(' and ')}`,
      async () => (await images()).join() === wanted.toSorted().join(),
      PATIENCE_MS,
    );
  const events = async (type: string) =>
    unwrap(await shop.client.all<StoredEvent>('/api/v1/events', { query: { type: `deployment.${type}` } })).items;
  const isHeld = () =>
    until('a healthy canary', async () => (await shop.show('web')).status?.canary?.state === 'holding', PATIENCE_MS);
  const order = (action: string) => shop.client.request('POST', '/api/v1/deployments/web/canary', { body: { action } });

  it('that is unhealthy goes back by itself, without a request lost', async () => {
    const before = await shop.show('web');
    const failing = { type: 'exec', command: ['echo no page; false'], interval: '1s', retries: 3 };
    await withTraffic(shop, port, async () => {
      await shop.change('web', { healthCheck: failing });
      await until('the abort', async () => (await shop.show('web')).metadata.generation === 3, PATIENCE_MS);
      await shop.reaches('web', 'Running');
    });
    const after = await shop.show('web');
    expect(after.metadata.specHash).to.equal(before.metadata.specHash);
    expect(after.status?.rollout?.lastCanary).to.include({ revision: 2, outcome: 'aborted' });
    expect(after.status?.rollout?.failure).to.include({ reason: 'unhealthy', rolledBackTo: 1 });
    expect(await events('canary_aborted')).to.have.length(1);
    expect((await order('promote')).ok, 'none is under way any more').to.equal(false);
  });

  it('is held across a kill of the controllers until it is promoted, without a request lost', async () => {
    const [first, second] = [await fleet.image('1'), await fleet.image('2')];
    await withTraffic(shop, port, async () => {
      await shop.change('web', { image: second });
      await isHeld();
      await runs(first, second);
      await plane.controllers.kill('SIGKILL');
      plane.controllers.start();
      unwrap(await order('promote'));
      await runs(second, second);
      await shop.reaches('web', 'Running');
    });
    expect(await events('canary_started')).to.have.length(2);
    expect(await events('canary_promoted')).to.have.length(1);
  });

  it('is promoted by itself when it was healthy for its hold, without a request lost', async () => {
    const third = await fleet.image('3');
    await withTraffic(shop, port, async () => {
      await shop.change('web', { image: third, rollout: { canary: { replicas: 1, hold: '10s' } } });
      await isHeld();
      await runs(third, third);
      await shop.reaches('web', 'Running');
    });
    const [promoted] = (await events('canary_promoted')).toSorted((a, b) => b.at.localeCompare(a.at));
    expect(promoted?.message).to.include('healthy for 10s');
  });
});
