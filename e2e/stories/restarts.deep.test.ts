import { expect } from 'chai';

import { ControlPlane } from '../lab/control-plane.js';
import { Fleet, type EnrolledMachine } from '../lab/fleet.js';
import { runMoor } from '../lab/moor.js';
import { type RawLine, RawTail, isRising } from '../lab/raw-tail.js';
import { type ShownDeployment, TenantClient } from '../lab/tenant-client.js';
import { until } from '../../dev/testing/index.js';

describe('a process that is killed and started again', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let machine: EnrolledMachine;

  before(async () => {
    plane = await ControlPlane.start({ MOORING_LEADER_LEASE_SECONDS: '2' });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    machine = await fleet.enrol(shop.client, 'shop-1');
    await shop.apply({ name: 'web', image: await fleet.image('1'), replicas: 2 });
    await shop.reaches('web', 'Running');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  /** What runs, and since when: unchanged means that nothing restarted it. */
  const standing = async () => {
    const running = await fleet.view.running('web');
    const since = await Promise.all(running.map(async ({ id }) => `${id} ${await fleet.view.startedAt(id)}`));
    return since.sort();
  };

  it('a deployment is restarted by moor restart: every container is replaced, and nothing else changes', async () => {
    const before = await shop.show('web');
    const ids = async () => (await fleet.view.running('web')).map(({ id }) => id);
    const old = await ids();
    expect((await runMoor(plane, shop, 'restart', 'web')).stdout).to.include('deployment/web');
    await until('other containers', async () => {
      const now = await ids();
      return now.length === 2 && !now.some(id => old.includes(id));
    });
    const { restartedAt, metadata: _, status: __, ...after } = await shop.reaches('web', 'Running');
    const { metadata: ___, status: ____, ...spec } = before;
    expect(restartedAt).to.be.a('string');
    expect(after).to.deep.equal(spec);
  });

  it('an agent restarts no container', async () => {
    const before = await standing();
    await machine.agent.restart('SIGKILL');
    await shop.change('web', { replicas: 3 });
    await shop.reaches('web', 'Running');
    expect(await standing()).to.include.members(before);
    await shop.change('web', { replicas: 2 });
    await until('one to be gone', async () => (await fleet.view.containers()).length === 2);
  });

  it('an agent removes containers of a deployment that was deleted meanwhile', async () => {
    await shop.apply({ name: 'brief', image: await fleet.image('1') });
    await shop.reaches('brief', 'Running');
    await machine.agent.kill('SIGKILL');
    await shop.client.request('DELETE', '/api/v1/deployments/brief');
    expect(await fleet.view.running('brief')).to.have.length(1);
    machine.agent.start();
    await until('brief to be gone', async () => (await fleet.view.running('brief')).length === 0);
  });

  it('the API server lets a watch resume without gap or duplicate', async () => {
    const tail = new RawTail<ShownDeployment>(shop.client, '/api/v1/deployments');
    await until('the tail to begin', async () => tail.lines.some(({ type }) => type === 'bookmark'));
    const first = (await shop.show('web')).metadata.generation;
    for (let round = 1; round <= 3; round++) {
      await shop.change('web', { labels: { round: `a${round}` } });
      await plane.api.restart('SIGKILL');
      await plane.serving();
      await shop.change('web', { labels: { round: `b${round}` } });
    }
    const last = (await shop.show('web')).metadata.generation;
    const changes = () => tail.lines.slice(tail.lines.findIndex(({ type }) => type === 'bookmark')).filter(isChange);
    const generations = () => changes().map(({ object }) => object.metadata.generation);
    await until('the tail to catch up', async () => generations().at(-1) === last);
    await tail.stop();

    expect(last - first).to.equal(6);
    expect(isRising(changes().map(({ cursor }) => cursor))).to.equal(true);
    // A change of the status alone repeats the generation, and is a change all the same.
    const steps = generations().map((generation, at) => generation - (generations()[at - 1] ?? first));
    expect(steps.every(step => step === 0 || step === 1)).to.equal(true);
    expect(new Set(changes().map(({ object }) => readCursor(object))).size).to.equal(changes().length);
  });

  it('the controllers carry out requests that were made meanwhile', async () => {
    await plane.controllers.kill('SIGKILL');
    await shop.change('web', { replicas: 3 });
    plane.controllers.start();
    await shop.reaches('web', 'Running');
    expect(await fleet.view.running('web')).to.have.length(3);
  });

  it('etcd loses nothing, and no container is restarted', async () => {
    const before = await standing();
    await plane.etcd.kill('SIGKILL');
    await until('the loss to be noticed', async () => (await fetch(`${plane.server}/healthz`)).status === 503);
    await plane.etcd.restart();
    await plane.serving();
    expect(await standing()).to.deep.equal(before);
    await shop.change('web', { replicas: 2 });
    await shop.reaches('web', 'Running');
  });

  it('the engine runs the same replicas again', async () => {
    await fleet.engine.kill('SIGKILL');
    await fleet.engine.restart();
    await until('both replicas to run', async () => (await fleet.view.running('web')).length === 2);
    await shop.reaches('web', 'Running');
    expect(await fleet.view.containers()).to.have.length(2);
  });

  // The first one that starts, each in turn: the others find what they need only later.
  for (const first of ['etcd', 'the API server', 'the controllers', 'the agent', 'the engine'] as const)
    it(`all of them at one moment, ${first} the first to start, do what was asked for, and nothing twice`, async () => {
      const replicas = (await shop.show('web')).replicas === 2 ? 3 : 2;
      await shop.change('web', { replicas });
      const { etcd, api, controllers } = plane;
      await Promise.all([etcd, api, controllers, machine.agent, fleet.engine].map(each => each.kill('SIGKILL')));
      const starts = {
        etcd: () => etcd.restart(),
        'the API server': async () => api.start(),
        'the controllers': async () => controllers.start(),
        'the agent': async () => machine.agent.start(),
        'the engine': () => fleet.engine.restart(),
      };
      await starts[first]();
      for (const [name, start] of Object.entries(starts).toReversed()) if (name !== first) await start();
      await plane.serving();
      await until(`${replicas} containers and no other`, async () => {
        const [running, all] = [await fleet.view.running('web'), await fleet.view.containers()];
        return running.length === replicas && all.length === replicas;
      });
      await shop.reaches('web', 'Running');
    });
});

function isChange({ type, object }: RawLine<ShownDeployment>): boolean {
  return type !== 'bookmark' && object.name === 'web';
}

/** Tells two states of a deployment apart: its own revision and what its status says. */
function readCursor({ metadata, status }: ShownDeployment): string {
  return `${metadata.revision} ${JSON.stringify(status)}`;
}
