import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { RotationCluster } from '../rotation-phaser/rotation-cluster.testing.js';
import { AT, makeDeployment, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';

/** Puts what the agent of the first replica says of its container. */
async function say(cluster: TestCluster, change: Partial<Report>, name = 'web'): Promise<void> {
  const [replica] = await cluster.all<Replica>(ranges.replicasOf(TENANT, name));
  const { uid, deployment, slot, nodeId, templateHash } = replica!;
  const common = { replica: uid, deployment, slot, nodeId: nodeId!, templateHash, restarts: 0, at: AT };
  await cluster.put(keys.report(TENANT, nodeId!, uid), { ...common, state: 'running', health: 'none', ...change });
  await cluster.clock.pass(500);
}

describe('what a status tells', () => {
  let cluster: TestCluster;
  let stop: AbortController;

  const start = async (made: TestCluster = new TestCluster()) => {
    cluster = made;
    stop = cluster.controllers('a');
    await cluster.enrol('n1');
    await cluster.clock.pass(1000);
  };
  afterEach(() => {
    stop.abort();
    cluster.close();
  });
  const listEvents = async () => {
    const all = await cluster.all<StoredEvent>(ranges.events);
    return all
      .filter(({ subject }) => subject.name === 'web')
      .toSorted((a, b) => (a.lastSeenAt < b.lastSeenAt ? -1 : 1));
  };

  it('keeps a crash loop in as many events as it has causes, counted up, and the placement in view', async () => {
    await start();
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 1 }));
    await cluster.clock.pass(2000);
    for (let round = 0; round < 20; round++) {
      const reason = round < 3 ? 'container_exited' : 'crash_loop';
      await say(cluster, { state: 'exited', reason, message: `exited with code 1, restart ${round}` });
      await cluster.clock.pass(60_000);
      await say(cluster, {});
    }
    await say(cluster, { state: 'exited', reason: 'crash_loop', exitCode: 99 });

    const events = await listEvents();
    expect(events.length).to.be.below(8);
    expect(events.map(({ type }) => type)).to.include.members(['deployment.placed', 'deployment.running']);
    const loop = events.filter(({ type, reason }) => type === 'deployment.degraded' && reason === 'crash_loop');
    expect(loop.map(({ count }) => count)).to.deep.equal([18]);
    expect(events.at(-1)).to.equal(loop[0]);
    expect(loop[0]?.message).to.include('exit code 99');
    expect(loop[0]!.at < loop[0]!.lastSeenAt).to.equal(true);
  });

  it('tells of a cause that returns after an hour, or after a change of the deployment, with an event of its own', async () => {
    await start();
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 1 }));
    await cluster.clock.pass(2000);
    const fail = async () => {
      await say(cluster, { state: 'exited', reason: 'crash_loop' });
      await say(cluster, {});
    };
    await fail();
    await cluster.clock.pass(2 * 3_600_000);
    await fail();
    const changed = makeDeployment({ replicas: 1, labels: { a: 'b' }, metadata: makeMetadata('dep_1', 2) });
    await cluster.put(keys.deployment(TENANT, 'web'), changed);
    await cluster.clock.pass(1000);
    await fail();
    const degraded = (await listEvents()).filter(({ type }) => type === 'deployment.degraded');
    expect(degraded.map(({ count }) => count)).to.deep.equal([1, 1, 1]);
  });

  it('tells of another cause although the phase stays', async () => {
    await start();
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 1 }));
    await cluster.clock.pass(2000);
    await say(cluster, { state: 'exited', reason: 'crash_loop' });
    await say(cluster, { state: 'failed', reason: 'image_pull_failed', message: 'no such image' });
    expect((await cluster.status())?.phase).to.equal('Degraded');
    expect((await listEvents()).at(-1)).to.include({ type: 'deployment.degraded', reason: 'image_pull_failed' });
  });

  it('carries the reason of a dependency along, over the whole chain', async () => {
    await start();
    const db = { metadata: makeMetadata('dep_2'), name: 'db', replicas: 1, image: 'db:1' };
    await cluster.put(keys.deployment(TENANT, 'db'), makeDeployment(db));
    await cluster.clock.pass(2000);
    await say(cluster, { state: 'failed', reason: 'image_pull_failed', message: 'no such image' }, 'db');
    const waits = (name: string, uid: string, target: string) =>
      makeDeployment({ name, metadata: makeMetadata(uid), dependsOn: [{ name: target, condition: 'started' }] });
    await cluster.put(keys.deployment(TENANT, 'web'), waits('web', 'dep_1', 'api'));
    await cluster.put(keys.deployment(TENANT, 'api'), waits('api', 'dep_3', 'db'));
    await cluster.clock.pass(2000);

    expect((await cluster.status())?.message).to.equal(
      'waits for api, which has not started (Waiting: waits for db, which has not started (Degraded: 0 of 1 replicas ready; replica 0: image db:1: no such image))',
    );
    await say(cluster, {}, 'db');
    await cluster.clock.pass(3000);
    expect((await cluster.status())?.phase).to.equal('Running');
  });

  it('has an open rotation on every consumer, with what it waits for and who asked for it', async () => {
    const rotating = new RotationCluster();
    cluster = rotating;
    stop = cluster.controllers('a');
    await rotating.begin();
    await rotating.reach('stage');
    const find = async (name: string) =>
      (await cluster.status(name))?.conditions.find(({ type }) => type === 'Rotating');
    for (const name of ['web', 'worker']) {
      const condition = await find(name);
      expect(condition).to.include({ status: 'True', reason: 'NextPhaseNotRequested' });
      expect(condition?.message).to.match(
        /^web-db is at stage, asked for at .* waits for "moor rotate web --secret web-db --phase promote"$/,
      );
    }

    cluster.health.set('worker', 'unhealthy');
    await rotating.ask('promote');
    await cluster.clock.pass(30_000);
    expect(await find('web')).to.include({ reason: 'PhaseIncomplete' });
    expect((await find('web'))?.message).to.include('of worker');

    cluster.health.delete('worker');
    await rotating.reach('abort');
    await cluster.clock.pass(30_000);
    expect(await find('web')).to.equal(undefined);
  });
});
