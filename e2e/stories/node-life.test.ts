import { expect } from 'chai';

import { ControlPlane } from '../lab/control-plane.js';
import { Fleet, type EnrolledMachine } from '../lab/fleet.js';
import { SlotWatch } from '../lab/slot-watch.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';
import { TcpProxy } from '../../dev/processes/index.js';
import { itDeep, until } from '../../dev/testing/index.js';

const SILENCE_SECONDS = 3;
const GRACE_SECONDS = 3;

interface ShownNode {
  readonly id: string;
  readonly status: string;
  readonly schedulable: { readonly value: boolean; readonly reason: string };
}

describe('the life of nodes', () => {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let [one, two]: EnrolledMachine[] = [];
  let watch: SlotWatch;
  /** What `shop-1` reaches the API server through. */
  let network: TcpProxy;

  before(async () => {
    plane = await ControlPlane.start({
      MOORING_NODE_FAILED_AFTER_SECONDS: String(SILENCE_SECONDS),
      MOORING_NODE_GRACE_SECONDS: String(GRACE_SECONDS),
    });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    network = await TcpProxy.start(Number(new URL(plane.server).port));
    one = await fleet.enrol(shop.client, 'shop-1', {}, { server: network.endpoint });
    two = await fleet.enrol(shop.client, 'shop-2');
    const image = await fleet.image('1');
    await shop.apply({ name: 'web', image, replicas: 2 });
    await shop.apply({ name: 'pinned', image, nodeId: 'shop-1' });
    await shop.reaches('web', 'Running');
    await shop.reaches('pinned', 'Running');
    watch = new SlotWatch(fleet.view);
  });
  after(async () => {
    await watch?.stop();
    await fleet?.stop();
    await network?.stop();
    await plane?.stop();
  });

  const node = async (name: string) => unwrap(await shop.client.request<ShownNode>('GET', `/api/v1/nodes/${name}`));
  const order = async (name: string, what: string) =>
    unwrap(await shop.client.request<ShownNode>('POST', `/api/v1/nodes/${name}/${what}`));
  const status = (name: string, wanted: string) =>
    until(`${name} to be ${wanted}`, async () => (await node(name)).status === wanted);
  const runningOn = async (name: string, deployment = 'web') => {
    const { id } = await node(name);
    return (await fleet.view.running(deployment)).filter(({ labels }) => labels['mooring.io/node'] === id);
  };
  const events = async (type: string) =>
    unwrap(await shop.client.request<{ items: unknown[] }>('GET', `/api/v1/events?type=${type}`)).items.length;
  const onOne = async () => {
    await until('two replicas of web, one on each node', async () => {
      const counts = [(await runningOn('shop-1')).length, (await runningOn('shop-2')).length];
      return counts.join() === '1,1';
    });
  };

  /** Has a replica of web on each node, both of which are ready. */
  const spread = async () => {
    await shop.change('web', { replicas: 1 });
    await shop.reaches('web', 'Running');
    await shop.change('web', { replicas: 2 });
    await onOne();
  };

  /** Waits until the absence of `shop-1` has been made good, lets it return, and says for how long two of a slot ran. */
  const returns = async (what: string, comeBack: () => void) => {
    const pinned = (await fleet.view.running('pinned')).map(({ id }) => id);
    await until('both replicas to run on the other node', async () => (await runningOn('shop-2')).length === 2);
    expect((await node('shop-1')).status).to.equal('failed');
    await until('both of the slot to be seen', async () => watch.doubled.length > 0);
    const back = Date.now();
    comeBack();
    await until('what was replaced to be gone', async () => (await runningOn('shop-1')).length === 0);
    await status('shop-1', 'ready');
    await until('nothing to be twice', async () => watch.doubled.every(({ until: end }) => end < Date.now() - 200));

    const [doubled] = watch.doubled;
    const longest = Math.max(...watch.doubled.map(({ until: end }) => end));
    console.log(
      `      ${what}: two containers of ${watch.doubled.length} slots, from ${back - doubled!.from} ms before the return ` +
        `until ${longest - back} ms after it`,
    );
    expect(watch.doubled).to.have.length(1);
    expect(
      (await fleet.view.running('pinned')).map(({ id }) => id),
      'what was not replaced',
    ).to.deep.equal(pinned);
    await shop.reaches('web', 'Running');
  };

  it('replicas of a killed agent run elsewhere, and are removed from its node when it returns', async () => {
    await onOne();
    watch.forget();
    await one!.agent.kill('SIGKILL');
    await returns('killed', () => one!.agent.start());
    expect(await events('node.lost')).to.equal(1);
  });

  it('an empty node is used again, and another is drained without a gap', async () => {
    watch.forget();
    await order('shop-2', 'drain');
    await until('everything to have left', async () => (await node('shop-2')).schedulable.reason === 'drained');

    expect(await runningOn('shop-1')).to.have.length(2);
    expect(await events('node.drained')).to.equal(1);
    console.log(`      drained: never fewer than ${watch.fewest('web')} of 2 containers`);
    expect(watch.fewest('web')).to.be.at.least(2);
    expect(watch.doubled).to.deep.equal([]);
    const { status: phase } = await shop.show('web');
    expect(phase?.readyReplicas).to.equal(2);
    await order('shop-2', 'undrain');
    await status('shop-2', 'ready');
  });

  itDeep('a drain removes a container with a health check once its replacement is healthy', async () => {
    // It takes three seconds until a container of it is healthy.
    const healthCheck = { type: 'exec', command: ['sleep 2'], interval: '1s', retries: 3 };
    await shop.apply({ name: 'checked', image: await fleet.image('1'), healthCheck });
    const { status: shown } = await shop.reaches('checked', 'Running');
    const isOnOne = shown?.placements[0]?.nodeId === (await node('shop-1')).id;
    const leaves = isOnOne ? 'shop-1' : 'shop-2';
    await until('the engine to say that it is healthy', async () =>
      (await fleet.view.running('checked')).every(container => container.status.includes('(healthy)')),
    );
    watch.forget();
    await order(leaves, 'drain');
    await until('it to have left', async () => (await runningOn(leaves, 'checked')).length === 0);

    console.log(`      drained with a health check: never fewer than ${watch.fewestHealthy('checked')} of 1 healthy`);
    expect(watch.fewestHealthy('checked')).to.equal(1);
    expect(watch.doubled).to.deep.equal([]);
    await order(leaves, 'undrain');
    await status(leaves, 'ready');
    unwrap(await shop.client.request('DELETE', '/api/v1/deployments/checked'));
    await until('it to be gone', async () => (await fleet.view.running('checked')).length === 0);
  });

  itDeep(
    'replicas of an agent that hangs past its grace period run elsewhere, and are removed when it continues',
    async () => {
      await order('shop-1', 'drain');
      await until('web to have left', async () => (await runningOn('shop-1')).length === 0);
      expect(await runningOn('shop-1', 'pinned'), 'what can be nowhere else').to.have.length(1);
      await order('shop-1', 'undrain');
      await spread();
      watch.forget();
      one!.agent.pause();
      await returns('paused', () => one!.agent.resume());
    },
  );

  for (const [way, what] of [
    ['in', 'whose packets reach no one'],
    ['out', 'that no packet reaches'],
  ] as const)
    itDeep(`replicas of an agent ${what} run elsewhere, and are removed when the network is whole again`, async () => {
      await spread();
      watch.forget();
      const heal = network.dropOneWay(way);
      try {
        await returns(what, heal);
      } finally {
        heal();
      }
    });

  itDeep(
    'containers of a machine that dies run elsewhere and never twice; those that cannot move start when it is back',
    async () => {
      await spread();
      watch.forget();
      const { id } = await node('shop-1');
      const there = async () =>
        (await fleet.view.containers()).filter(({ labels }) => labels['mooring.io/node'] === id);
      await one!.agent.kill('SIGKILL');
      await Promise.all((await there()).map(container => fleet.view.kill(container.id)));
      await until('both replicas to run on the other node', async () => (await runningOn('shop-2')).length === 2);
      expect(await fleet.view.running('pinned'), 'what can be nowhere else').to.deep.equal([]);

      one!.agent.start();
      await until(
        'what can be nowhere else to run again',
        async () => (await runningOn('shop-1', 'pinned')).length === 1,
      );
      await until('the remains of what was replaced to be gone', async () => (await there()).length === 1);
      await status('shop-1', 'ready');
      await shop.reaches('web', 'Running');
      console.log(`      died: never fewer than ${watch.fewest('web')} of 2 containers`);
      expect(watch.fewest('web')).to.equal(1);
      expect(watch.doubled).to.deep.equal([]);
    },
  );

  itDeep('replicas of a machine that is off run elsewhere once it is fenced', async () => {
    await two!.agent.kill('SIGKILL');
    await order('shop-2', 'fence');
    await until('both replicas to run on the other node', async () => (await runningOn('shop-1')).length === 2);

    two!.agent.start();
    await until('what was replaced to be gone', async () => (await runningOn('shop-2')).length === 0);
    await status('shop-2', 'ready');
    await shop.reaches('web', 'Running');
  });

  it('an empty node can be deleted, and one with replicas cannot', async () => {
    const busy = await shop.client.request('DELETE', '/api/v1/nodes/shop-1');
    expect(busy.ok ? '' : busy.rejections[0]?.code).to.equal('node_in_use');
    unwrap(await shop.client.request('DELETE', '/api/v1/nodes/shop-2'));
    expect((await shop.client.request('GET', '/api/v1/nodes/shop-2')).status).to.equal(404);
  });
});
