import { expect } from 'chai';

import type { JobStatus, StoredJob } from '../../crds/job/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeStatus } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { defaultPolicy } from '../../pkg/fleet/index.js';
import { AT, makeMetadata, makeReport, TENANT, TestCluster } from '../test-cluster.testing.js';

const makeJob = (name: string, change: Partial<StoredJob> = {}): StoredJob => ({
  metadata: makeMetadata(`job_${name}`),
  kind: 'Job',
  name,
  image: 'migrate:1',
  backoffLimit: 0,
  ...change,
});

describe('jobs among the controllers', () => {
  let cluster: TestCluster;
  let lease: string;
  beforeEach(async () => {
    cluster = new TestCluster();
    lease = await cluster.enrol('one');
  });
  afterEach(() => cluster.close());

  const begin = async (...all: readonly StoredJob[]) => {
    for (const job of all) await cluster.put(keys.job(TENANT, job.name), job);
    await cluster.clock.pass(2000);
  };
  const status = (name: string) => cluster.get<JobStatus>(keys.jobStatus(TENANT, name));
  const attempts = (name: string) => cluster.all<Replica>(ranges.replicasOf(TENANT, `job.${name}`));
  /** Has the agent of the last attempt say something else than that its container runs. */
  const say = async (name: string, report: Partial<Report>) => {
    const replica = (await attempts(name)).at(-1)!;
    const key = keys.report(TENANT, replica.nodeId!, replica.uid);
    await cluster.put(key, { ...makeReport(replica), ...report });
    await cluster.clock.pass(5000);
  };
  const end = (name: string, exitCode = 0) => say(name, { state: 'exited', exitCode, reason: 'container_exited' });

  it('that have not started leave a node that is drained, and those that run may end there', async () => {
    cluster.controllers('a');
    cluster.agentsWork = false;
    await begin(makeJob('stuck', { backoffLimit: 1 }), makeJob('running'));
    await say('stuck', { state: 'failed', reason: 'image_pull_failed' });
    await say('running', { state: 'running' });
    cluster.agentsWork = true;
    await cluster.order('one', { drain: { by: 'tok_1', since: AT } });
    await cluster.clock.pass(2000);
    expect((await status('stuck'))?.history[0]).to.include({ state: 'Failed', reason: 'draining' });
    await cluster.enrol('two');
    await cluster.clock.pass(10_000);
    expect(await status('stuck')).to.include({ phase: 'Running', attempts: 2 });
    expect((await attempts('stuck')).map(({ nodeId }) => nodeId)).to.deep.equal(['node_two']);
    expect(await status('running')).to.include({ phase: 'Running', attempts: 1 });

    await end('running');
    expect(await status('running')).to.include({ phase: 'Succeeded' });
    expect(await cluster.get<NodeStatus>(keys.nodeStatus(TENANT, 'one'))).to.include({ reason: 'drained' });
  });

  it('announce and count each attempt that failed, and their end', async () => {
    cluster.controllers('a');
    await begin(makeJob('twice', { backoffLimit: 1 }), makeJob('well', { backoffLimit: 1 }));
    await end('twice', 3);
    await end('twice', 4);
    await end('well', 5);
    await end('well');
    const events = await cluster.all<StoredEvent>(ranges.events);
    const failed = events.filter(({ type }) => type === 'job.attempt_failed');
    expect(failed.map(({ subject, data }) => [subject.name, data['attempt'], data['exitCode']])).to.deep.equal([
      ['twice', 1, 3],
      ['twice', 2, 4],
      ['well', 1, 5],
    ]);
    expect(failed[0]).to.include({ reason: 'container_exited', severity: 'warning' });
    expect(failed[0]?.message).to.match(/^attempt 1 failed: .*exit code 3/);
    for (const [type, count] of [
      ['job.attempt_failed', 3],
      ['job.failed', 1],
      ['job.succeeded', 1],
    ] as const) {
      expect(await cluster.counted(type), type).to.equal(count);
    }
  });

  it('say that nobody knows whether they run while their node is silent', async () => {
    cluster.controllers('a');
    await begin(makeJob('unseen'));
    expect(await status('unseen'))
      .to.include({ phase: 'Running' })
      .and.not.have.property('reason');
    await cluster.store.revoke(lease);
    await cluster.clock.pass(2000);
    expect(await status('unseen')).to.include({ phase: 'Running', reason: 'node_failed' });
  });

  it('that ran out of memory say so, with the limit', async () => {
    cluster.controllers('a');
    await begin(makeJob('hungry', { resources: { limits: { memory: '16Mi' } } }));
    const lastEnd = { exitCode: 137, at: AT, oomKilled: true } as const;
    await say('hungry', { state: 'exited', exitCode: 137, reason: 'container_exited', lastEnd });
    const { history, phase, message } = (await status('hungry'))!;
    expect(phase).to.equal('Failed');
    expect(history[0]).to.include({ reason: 'oom_killed', exitCode: 137 });
    expect(message).to.include('out of memory (limit 16Mi)');
  });

  it('that have ended take nothing of the quota of jobs', async () => {
    cluster.controllers('a', { ...defaultPolicy, quotas: { jobs: 1 } });
    await begin(makeJob('first'), makeJob('second'), makeJob('third'));
    expect(await status('first')).to.include({ phase: 'Running' });
    for (const name of ['second', 'third']) expect(await status(name)).to.include({ reason: 'unschedulable' });

    await end('first');
    expect(await status('first')).to.include({ phase: 'Succeeded' });
    expect(await status('second')).to.include({ phase: 'Running' });
    expect(await status('third')).to.include({ phase: 'Pending' });
    await end('second', 3);
    expect(await status('third')).to.include({ phase: 'Running' });
  });
});
