import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { dieAt } from '../lab/dying-at.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

/** Computes while the file says so, and rests otherwise. */
const WORK = `trap 'exit 0' TERM
echo 0 > /tmp/busy
while :; do
  read busy < /tmp/busy
  if [ "$busy" = 1 ]; then i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; else sleep 1 & wait; fi
done`;

const PATIENCE_MS = 240_000;

interface ShownScaling {
  readonly maxReplicas: number;
  readonly status: { readonly replicas: number; readonly base: number; readonly message?: string };
  readonly current: { readonly cpuPercent?: number; readonly measuredReplicas: number };
}

describe('a scaling policy, on a real engine', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let isBusy = false;
  let loading: NodeJS.Timeout;

  const told = new Map<string, boolean>();

  /** Tells every container once whether to work: also those that have been started since. */
  const tellAll = async () => {
    for (const { id } of await fleet.view.running('web')) {
      if ((told.get(id) ?? false) === isBusy) continue;
      told.set(id, isBusy);
      await fleet.view.run(id, ['sh', '-c', `echo ${isBusy ? 1 : 0} > /tmp/busy`]).catch(() => told.delete(id));
    }
  };

  before(async () => {
    plane = await ControlPlane.start({ MOORING_LEADER_LEASE_SECONDS: '2' });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    await fleet.enrol(shop.client, 'one');
    await shop.apply({
      name: 'web',
      image: await fleet.image('1'),
      command: ['sh', '-c', WORK],
      replicas: 1,
      resources: { cpu: '80m', memory: '16Mi', limits: { cpu: '160m' } },
      stopGracePeriod: '2s',
    });
    await shop.reaches('web', 'Running');
    loading = setInterval(() => void tellAll(), 1_000);
  });
  after(async () => {
    clearInterval(loading);
    await fleet?.stop();
    await plane?.stop();
  });

  const PATH = '/api/v1/deployments/web/scaling';
  const POLICY = { minReplicas: 1, maxReplicas: 4, targetCpuPercent: 60, stabilization: '10s' };
  const show = async () => unwrap(await shop.client.request<ShownScaling>('GET', PATH));
  const countRunning = async () => (await fleet.view.running('web')).length;
  const scaled = async () =>
    unwrap(await shop.client.all<StoredEvent>('/api/v1/events', { query: { type: 'deployment.scaled' } })).items;
  const reach = async (count: number) => {
    await until(
      `${count} containers`,
      async () => (await countRunning()) === count && (await show()).status.replicas === count,
      PATIENCE_MS,
    );
    const { status } = await shop.reaches('web', 'Running', PATIENCE_MS);
    expect(status?.readyReplicas).to.equal(count);
    expect(status?.scaling?.replicas).to.equal(count);
  };

  it('is stored and removed as a whole or not at all, whenever the API server is killed', async () => {
    const deaths = ['policy.storing', 'policy.stored', 'policy.removing', 'policy.removed'] as const;
    const isThere = async () => (await shop.client.request('GET', PATH)).ok;
    const found: boolean[] = [];
    await dieAt({ part: plane.api, at: deaths }, async () => {
      await plane.serving();
      for (const method of ['PUT', 'PUT', 'DELETE', 'DELETE'] as const) {
        const options = method === 'PUT' ? { body: POLICY } : {};
        await shop.client.request(method, PATH, options).catch(() => undefined);
        await plane.serving();
        found.push(await isThere());
      }
    });
    expect(found).to.deep.equal([false, true, true, false]);
    const query = { type: 'deployment.updated' };
    const { items } = unwrap(await shop.client.all<StoredEvent>('/api/v1/events', { query }));
    expect(items.map(({ reason }) => reason).sort()).to.deep.equal(['scaling_policy_removed', 'scaling_policy_set']);
  });

  it('keeps one replica while there is no load', async () => {
    unwrap(await shop.client.request('PUT', PATH, { body: POLICY }));
    await until('figures', async () => (await show()).current.cpuPercent !== undefined, PATIENCE_MS);
    const { status, current } = await show();
    expect(status).to.include({ replicas: 1, base: 1 });
    expect(current.measuredReplicas).to.equal(1);
  });

  it('starts more under load, step by step, though the controllers are killed at each', async () => {
    await dieAt({ part: plane.controllers, at: ['scaling.deciding', 'scaling.decided'] }, async () => {
      isBusy = true;
      await reach(4);
    });
    const events = await scaled();
    expect(events.map(({ reason }) => reason)).to.deep.equal(events.map(() => 'scaled_up'));
    const steps = events.map(({ data }) => [Number(data?.['from']), Number(data?.['to'])]);
    expect([steps[0]?.[0], steps.at(-1)?.[1]]).to.deep.equal([1, 4]);
    for (const { data } of events) {
      expect(data).to.include({ base: 1, targetCpuPercent: 60 });
      expect(data?.['cpuPercent']).to.be.a('number').above(66);
    }
  });

  it('shows what replicas and nodes use', async () => {
    interface Usage {
      readonly deployments: readonly { readonly name: string; readonly used: { readonly cpu: number } }[];
      readonly nodes: readonly { readonly name: string; readonly used: { readonly memory: number } | null }[];
    }
    const { deployments, nodes } = unwrap(await shop.client.request<Usage>('GET', '/api/v1/usage'));
    expect(deployments[0]).to.include({ name: 'web' });
    expect(deployments[0]?.used.cpu).to.be.above(50);
    expect(nodes[0]?.used?.memory).to.be.above(0);
  });

  it('stops them when the load is gone, with other controllers, and the spec stays as it was sent', async () => {
    await plane.controllers.kill('SIGKILL');
    plane.controllers.start();
    expect(await countRunning()).to.equal(4);
    isBusy = false;
    await reach(1);
    const { replicas, metadata } = await shop.show('web');
    expect([replicas, metadata.generation]).to.deep.equal([1, 1]);
    const events = await scaled();
    expect(events.map(({ data }) => data?.['to']).at(-1)).to.equal(1);
  });

  it('goes with its deployment', async () => {
    await shop.remove('web');
    const left = async () => (await plane.storedKeys()).filter(key => key.startsWith('scaling'));
    await until('no key to be left', async () => (await left()).length === 0, PATIENCE_MS);
  });
});
