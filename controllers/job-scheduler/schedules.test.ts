import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import type { JobStatus, StoredJob } from '../../crds/job/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { defaultPolicy } from '../../pkg/fleet/index.js';
import { interceptCommits, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';

const MINUTE = 60_000;

const makeJob = (change: Partial<StoredJob> = {}): StoredJob => ({
  metadata: makeMetadata('job_1'),
  kind: 'Job',
  name: 'tidy',
  image: 'tidy:1',
  backoffLimit: 0,
  schedule: '* * * * *',
  timeZone: 'UTC',
  concurrencyPolicy: 'Allow',
  ...change,
});

describe('a job with a schedule', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = new TestCluster();
    await cluster.enrol('one');
  });
  afterEach(() => cluster.close());

  const store = (job: StoredJob) => cluster.put(keys.job(TENANT, job.name), job);
  const listRuns = async () => {
    const jobs = await cluster.all<StoredJob>(ranges.jobs);
    return jobs.filter(({ metadata }) => metadata.owner !== undefined);
  };
  const getStatus = () => cluster.get<JobStatus>(keys.jobStatus(TENANT, 'tidy'));
  const tell = async (...types: readonly string[]) =>
    (await cluster.all<StoredEvent>(ranges.events)).filter(({ type }) => types.includes(type));
  /** Every container that runs has ended. */
  const endAll = async (exitCode: number) => {
    for (const replica of await cluster.all<Replica>(ranges.replicas)) {
      if (replica.retiringSince || !replica.nodeId) continue;
      const key = keys.report(TENANT, replica.nodeId, replica.uid);
      await cluster.put(key, { ...(await cluster.get<object>(key)), state: 'exited', exitCode });
    }
    await cluster.clock.pass(1_000);
  };

  it('makes a job at every tick, keeps the last ones, and goes with all of them', async () => {
    const stop = cluster.controllers('a');
    await store(makeJob());
    await cluster.clock.pass(30_000);
    expect(await getStatus()).to.include({ phase: 'Scheduled', nextRunAt: '2030-01-01T00:01:00.000Z' });
    expect(await cluster.all(ranges.replicas)).to.deep.equal([]);

    for (const exitCode of [0, 1, 0, 1, 0, 0]) {
      await cluster.clock.pass(MINUTE - 1_000);
      const [run] = (await listRuns()).slice(-1);
      expect(run).to.not.have.any.keys('schedule', 'timeZone', 'concurrencyPolicy');
      expect((await getStatus())?.active).to.deep.equal([run!.name]);
      await endAll(exitCode);
    }
    const status = await getStatus();
    expect(status).to.deep.include({ active: [], lastScheduledAt: '2030-01-01T00:06:00.000Z' });
    expect(status?.runs?.map(({ phase }) => phase)).to.deep.equal(['Succeeded', 'Failed', 'Succeeded', 'Succeeded']);
    expect(status?.lastRun).to.include({ phase: 'Succeeded', exitCode: 0 });
    expect((await tell('job.run_created')).length).to.equal(6);
    expect(await cluster.counted('job.run_created')).to.equal(6);
    expect(await listRuns()).to.have.length(4);

    await cluster.clock.pass(MINUTE);
    await store(makeJob({ metadata: { ...makeMetadata('job_1'), deletedAt: '2030-01-01T00:08:00.000Z' } }));
    await cluster.clock.pass(5_000);
    for (const range of [ranges.jobs, ranges.jobStatuses, ranges.replicas, ranges.reports]) {
      expect(await cluster.all(range), range).to.deep.equal([]);
    }
    stop.abort();
  });

  it('runs the last tick once when nobody was there, and says what it missed', async () => {
    cluster.controllers('a').abort();
    await store(makeJob());
    await cluster.clock.pass(10 * MINUTE + 30_000);
    const stop = cluster.controllers('b');
    await cluster.clock.pass(20_000);
    expect((await listRuns()).map(({ metadata }) => metadata.scheduledAt)).to.deep.equal(['2030-01-01T00:10:00.000Z']);
    const [missed] = await tell('job.run_missed');
    expect(missed).to.include({ reason: 'runs_missed', severity: 'warning' });
    expect(missed?.data).to.include({ count: 9 });
    expect((await getStatus())?.missed).to.include({ count: 9 });
    expect(await cluster.counted('job.run_missed')).to.equal(1);
    stop.abort();
  });

  it('skips what may not run beside another, and replaces what may be', async () => {
    const stop = cluster.controllers('a');
    await store(makeJob({ concurrencyPolicy: 'Forbid' }));
    await store(makeJob({ name: 'fresh', metadata: makeMetadata('job_2'), concurrencyPolicy: 'Replace' }));
    await cluster.clock.pass(3 * MINUTE + 1_000);
    const names = (await listRuns()).map(({ name, metadata }) => `${name.split('-')[0]} ${metadata.scheduledAt}`);
    expect(names).to.deep.equal(['fresh 2030-01-01T00:03:00.000Z', 'tidy 2030-01-01T00:01:00.000Z']);
    expect((await tell('job.run_skipped')).map(({ subject, reason }) => [subject.name, reason])).to.deep.equal([
      ['tidy', 'run_still_active'],
      ['tidy', 'run_still_active'],
    ]);
    expect((await tell('job.run_replaced')).map(({ subject }) => subject.name)).to.deep.equal(['fresh', 'fresh']);
    expect(await tell('job.run_missed')).to.deep.equal([]);
    stop.abort();
  });

  it('takes no place of the quota: its runs do, and wait for one', async () => {
    const stop = cluster.controllers('a', { ...defaultPolicy, quotas: { ...defaultPolicy.quotas, jobs: 1 } });
    await store(makeJob());
    await cluster.clock.pass(2 * MINUTE + 1_000);
    const placed = async () =>
      (await cluster.all<Replica>(ranges.replicas)).map(({ nodeId, retiringSince }) => !retiringSince && nodeId);
    expect(await placed()).to.deep.equal(['node_one', undefined]);
    await endAll(0);
    expect(await placed()).to.deep.equal(['node_one']);
    stop.abort();
  });

  it('makes a run once though the answer of the store is lost, and leaders follow one another', async () => {
    let lost = 0;
    const flaky = interceptCommits(cluster.store, change => {
      if (!change.puts.some(({ key }) => key.startsWith(ranges.jobs)) || ++lost % 2 === 0) return undefined;
      return cluster.store.commit(change).then(() => {
        throw new Error('the answer was lost');
      });
    });
    for (const holder of ['a', 'bb', 'ccc', 'dddd']) {
      const stop = cluster.controllers(holder, undefined, flaky);
      if (holder === 'a') await store(makeJob());
      await cluster.clock.pass(MINUTE);
      stop.abort();
    }
    const ticks = (await tell('job.run_created')).map(({ data }) => data['scheduledAt']);
    expect(ticks).to.have.length.greaterThan(1);
    expect(new Set(ticks).size).to.equal(ticks.length);
    expect(lost).to.be.greaterThan(0);
  });

  it('is not run while its record or its status cannot be read, and deletes runs that belong to nobody', async () => {
    const stop = cluster.controllers('a');
    await store({ ...makeJob({ name: 'broken', metadata: makeMetadata('job_b') }), image: 5 } as never);
    await store(makeJob());
    await cluster.put(keys.jobStatus(TENANT, 'tidy'), { uid: 'job_1', settledUntil: 'yesterday' });
    const orphan = makeJob({
      name: 'left',
      metadata: { ...makeMetadata('job_l'), owner: { name: 'gone', uid: 'job_g' } },
    });
    const { schedule: _s, timeZone: _z, concurrencyPolicy: _c, ...plain } = orphan;
    await store(plain);
    await store(makeJob({ name: 'well', metadata: makeMetadata('job_w') }));
    await cluster.clock.pass(MINUTE + 5_000);
    expect((await listRuns()).map(({ metadata }) => metadata.owner?.name)).to.deep.equal(['well']);
    stop.abort();
  });

  it('has no container: one that controllers of another release made for it goes', async () => {
    const { schedule: _s, timeZone: _z, concurrencyPolicy: _c, ...plain } = makeJob();
    await store(plain);
    let stop = cluster.controllers('a');
    await cluster.clock.pass(5_000);
    stop.abort();
    expect(await cluster.all(ranges.replicas)).to.have.length(1);
    await store(makeJob());
    stop = cluster.controllers('b');
    await cluster.clock.pass(30_000);
    expect(await cluster.all(ranges.replicas)).to.deep.equal([]);
    expect(await getStatus()).to.include({ phase: 'Scheduled' });
    stop.abort();
  });

  for (const [what, damaged] of [
    ['cannot be read', 5],
    ['is lost', undefined],
  ] as const) {
    it(`is deleted with its runs although its schedule ${what}`, async () => {
      const stop = cluster.controllers('a');
      await store(makeJob());
      await cluster.clock.pass(2 * MINUTE + 1_000);
      expect(await listRuns()).to.have.length(2);
      await store({ ...makeJob(), schedule: damaged } as never);
      await cluster.clock.pass(1_000);
      const metadata = { ...makeMetadata('job_1'), deletedAt: '2030-01-01T00:02:00.000Z' };
      await store({ ...makeJob({ metadata }), schedule: damaged } as never);
      await cluster.clock.pass(30_000);
      for (const range of [ranges.jobs, ranges.jobStatuses, ranges.replicas]) {
        expect(await cluster.all(range), range).to.deep.equal([]);
      }
      stop.abort();
    });
  }
});
