import { expect } from 'chai';

import type { ScalingPolicy, ScalingRecord, StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeUsage } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { makeDeployment, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';

const KEY = keys.scalingPolicy(TENANT, 'web');
const RECORD = keys.scaling(TENANT, 'web');
const MINUTE = 60_000;

describe('a deployment with a scaling policy', () => {
  let cluster: TestCluster;
  let percent: number;
  let measuring: boolean;
  beforeEach(async () => {
    cluster = new TestCluster();
    percent = 50;
    measuring = true;
    await cluster.enrol('one');
    measure();
  });
  afterEach(() => cluster.close());

  /** Every replica uses the same share of the 100m that it requests. */
  const measure = () => {
    void (async () => {
      const replicas = await cluster.all<Replica>(ranges.replicas);
      const at = new Date(cluster.clock.now()).toISOString();
      const used = replicas.map(({ uid }) => ({ replica: uid, cpu: percent, memory: 0 }));
      const usage: NodeUsage = { id: 'node_one', at, replicas: used };
      if (measuring) await cluster.put(keys.usage(TENANT, 'one'), usage);
      cluster.clock.after(5_000, measure);
    })();
  };
  const put = (change: Partial<StoredDeployment> = {}) =>
    cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ resources: { cpu: '100m' }, ...change }));
  const set = (change: Partial<ScalingPolicy> = {}, uid = 'dep_1') =>
    cluster.put(KEY, {
      metadata: makeMetadata(uid),
      minReplicas: 1,
      maxReplicas: 5,
      targetCpuPercent: 50,
      stabilization: '1m',
      ...change,
    });
  const count = async () => (await cluster.whereabouts()).length;
  const events = async () =>
    (await cluster.all<StoredEvent>(ranges.events)).filter(({ type }) => type === 'deployment.scaled');
  const shown = async () => (await cluster.status())?.scaling;

  it('has more replicas under load, and fewer when it has been lower for long', async () => {
    cluster.controllers('a');
    await put();
    await set();
    await cluster.clock.pass(MINUTE);
    expect(await count()).to.equal(2);
    expect(await shown()).to.include({ replicas: 2, cpuPercent: 50, reason: 'scaling_steady' });

    percent = 120;
    await cluster.clock.pass(MINUTE);
    expect(await count()).to.equal(5);
    expect(await cluster.status()).to.include({ phase: 'Running', readyReplicas: 5 });
    expect(await shown()).to.include({ replicas: 5, reason: 'scaling_at_maximum' });
    expect((await cluster.get<StoredDeployment>(keys.deployment(TENANT, 'web')))?.replicas, 'the spec').to.equal(2);

    percent = 5;
    await cluster.clock.pass(45_000);
    expect(await count(), 'within the stabilization time').to.equal(5);
    await cluster.clock.pass(MINUTE);
    expect(await count()).to.equal(1);
    expect((await events()).map(({ data }) => [data?.['from'], data?.['to']])).to.deep.equal([
      [2, 5],
      [5, 1],
    ]);
    expect((await events())[0]?.data).to.include({ cpuPercent: 120, targetCpuPercent: 50, base: 2 });
    const counters = await cluster.metrics.text();
    for (const reason of ['scaled_up', 'scaled_down']) {
      expect(counters).to.contain(`mooring_events_total{type="deployment.scaled",reason="${reason}"} 1\n`);
    }
  });

  it('goes on from another number in the spec, within the bounds, and stays stopped', async () => {
    cluster.controllers('a');
    await put();
    await set();
    percent = 120;
    await cluster.clock.pass(MINUTE);
    percent = 50;
    await put({ replicas: 3, metadata: makeMetadata('dep_1', 2) });
    await cluster.clock.pass(MINUTE);
    expect(await count()).to.equal(3);
    expect((await events()).at(-1)).to.include({ reason: 'scaling_base' });

    await put({ replicas: 50, metadata: makeMetadata('dep_1', 3) });
    await cluster.clock.pass(MINUTE);
    expect(await count()).to.equal(5);

    percent = 400;
    await put({ replicas: 0, metadata: makeMetadata('dep_1', 4) });
    await cluster.clock.pass(2 * MINUTE);
    expect(await count()).to.equal(0);
    expect((await cluster.status())?.phase).to.equal('Stopped');
  });

  it('has no more steps than one in 15 seconds, and forgets nothing when another process leads', async () => {
    const first = cluster.controllers('a');
    await put({ replicas: 1 });
    await set({ maxReplicas: 10 });
    percent = 300;
    await cluster.clock.pass(20_000);
    first.abort();
    cluster.controllers('bb');
    await cluster.clock.pass(2 * MINUTE);
    const steps = (await events()).map(({ at }) => Date.parse(at)).toSorted((a, b) => a - b);
    expect(steps.length).to.be.at.least(2);
    for (const [index, at] of steps.slice(1).entries()) expect(at - steps[index]!).to.be.at.least(15_000);
    expect(await count()).to.equal(10);
  });

  it('keeps its number while nothing is known, and when another process begins to lead', async () => {
    const first = cluster.controllers('a');
    await put();
    await set();
    percent = 120;
    await cluster.clock.pass(MINUTE);
    measuring = false;
    percent = 0;
    await cluster.clock.pass(3 * MINUTE);
    expect(await shown()).to.include({ replicas: 5, reason: 'scaling_no_figures' });

    first.abort();
    measuring = true;
    cluster.controllers('bb');
    await cluster.clock.pass(50_000);
    expect(await count(), 'a new leader waits for the whole stabilization time').to.equal(5);
    await cluster.clock.pass(2 * MINUTE);
    expect(await count()).to.equal(1);
  });

  it('goes back to its spec when the policy is removed, and takes the policy with it when it is deleted', async () => {
    cluster.controllers('a');
    await put();
    await set();
    percent = 120;
    await cluster.clock.pass(MINUTE);
    await cluster.erase(KEY);
    await cluster.clock.pass(MINUTE);
    expect(await count()).to.equal(2);
    expect(await shown()).to.equal(undefined);
    expect(await cluster.get(RECORD)).to.equal(undefined);

    await set();
    await cluster.clock.pass(MINUTE);
    await put({ metadata: { ...makeMetadata('dep_1', 2), deletedAt: '2030-01-01T00:10:00.000Z' } });
    await cluster.clock.pass(MINUTE);
    expect(await cluster.get(KEY)).to.equal(undefined);
    expect(await cluster.get(RECORD)).to.equal(undefined);
  });

  it('is not held up by records that make no sense, nor scaled by the policy of another one', async () => {
    cluster.controllers('a');
    await put();
    await cluster.put(RECORD, { uid: 'dep_1', base: 2, replicas: 'many' });
    await set({ minReplicas: null, maxReplicas: {}, stabilization: 7 } as unknown as ScalingPolicy);
    percent = 120;
    await cluster.clock.pass(MINUTE);
    expect(await count(), 'it bounds nothing').to.equal(2);
    expect((await cluster.status())?.phase).to.equal('Running');
    await set();
    await cluster.clock.pass(MINUTE);
    expect((await cluster.get<ScalingRecord>(RECORD))?.replicas).to.equal(5);

    await cluster.put(KEY, { nothing: true });
    await cluster.clock.pass(MINUTE);
    expect(await count()).to.equal(2);
    expect(await cluster.get(KEY), 'it belongs to no deployment').to.equal(undefined);

    await set({ minReplicas: 4 }, 'dep_other');
    await cluster.clock.pass(MINUTE);
    expect(await count()).to.equal(2);
  });
});
