import { expect } from 'chai';
import fc from 'fast-check';

import type { JobStatus, RunStatus, StoredJob } from '../../crds/job/index.js';
import { decideRuns, type ObservedRun, type RunsDecision, type RunsInput } from './decide.js';

const HOUR = 3_600_000;
const at = (clock: string) => `2030-01-01T${clock}:00.000Z`;
const ms = (clock: string) => Date.parse(at(clock));
const runName = (clock: string) => `nightly-${ms(clock) / 60_000}`;

const makeJob = (change: Partial<StoredJob> = {}): StoredJob => ({
  metadata: {
    tenant: 't1',
    uid: 'job_1',
    generation: 1,
    createdAt: at('00:00'),
    updatedAt: at('00:00'),
    specHash: 'h',
  },
  kind: 'Job',
  name: 'nightly',
  image: 'nightly:1',
  backoffLimit: 3,
  schedule: '*/10 * * * *',
  timeZone: 'UTC',
  concurrencyPolicy: 'Allow',
  ...change,
});

const run = (clock: string, phase: JobStatus['phase'] = 'Running', change: Partial<ObservedRun> = {}): ObservedRun => ({
  name: runName(clock),
  scheduledAt: at(clock),
  isGoing: false,
  status: {
    uid: 'job_2',
    phase,
    message: '',
    attempts: 1,
    history: [],
    ...((phase === 'Succeeded' || phase === 'Failed') && {
      finishedAt: at(clock),
      exitCode: phase === 'Failed' ? 1 : 0,
    }),
  },
  ...change,
});

const statusUntil = (clock: string, change: Partial<JobStatus> = {}): JobStatus => ({
  uid: 'job_1',
  phase: 'Scheduled',
  message: '',
  attempts: 0,
  history: [],
  settledUntil: at(clock),
  active: [],
  runs: [],
  ...change,
});

const decide = (change: Partial<RunsInput> = {}): RunsDecision =>
  decideRuns({
    job: makeJob(),
    status: statusUntil('00:00'),
    runs: [],
    isTaken: () => false,
    now: ms('00:10'),
    deadlineMs: HOUR,
    ...change,
  });

describe('the job scheduler', () => {
  const policies = {
    Forbid: makeJob({ concurrencyPolicy: 'Forbid' }),
    Replace: makeJob({ concurrencyPolicy: 'Replace' }),
  };
  const cases: readonly {
    title: string;
    given: Partial<RunsInput>;
    creates?: string;
    leftOut?: readonly [count: number, reason: string][];
    removes?: readonly string[];
    settled?: string;
  }[] = [
    { title: 'makes a run at a tick', given: {}, creates: '00:10', settled: '00:10' },
    { title: 'makes none before its first tick', given: { now: ms('00:09'), status: undefined }, settled: '00:00' },
    {
      title: 'makes none for the minute of its creation',
      given: { now: ms('00:00'), status: undefined },
      settled: '00:00',
    },
    { title: 'makes none twice', given: { status: statusUntil('00:10') }, settled: '00:10' },
    {
      title: 'makes none again when the clock was set back',
      given: { status: statusUntil('00:30'), now: ms('00:10') },
      settled: '00:30',
    },
    {
      title: 'runs the last of the ticks that it missed, once',
      given: { now: ms('00:55') },
      creates: '00:50',
      leftOut: [[4, 'runs_missed']],
      settled: '00:50',
    },
    {
      title: 'runs a single tick that it comes to late',
      given: { job: makeJob({ schedule: '5 0 * * *' }), now: ms('01:00') },
      creates: '00:05',
      settled: '00:05',
    },
    {
      title: 'runs none that is older than the deadline',
      given: { job: makeJob({ schedule: '5 0 * * *' }), now: ms('01:06') },
      leftOut: [[1, 'runs_missed']],
      settled: '00:05',
    },
    {
      title: 'counts no more than a hundred of what it missed',
      given: { job: makeJob({ schedule: '* * * * *' }), now: ms('23:00'), deadlineMs: 0 },
      creates: '23:00',
      leftOut: [[100, 'runs_missed']],
      settled: '23:00',
    },
    { title: 'runs beside others by default', given: { runs: [run('00:00')] }, creates: '00:10', settled: '00:10' },
    {
      title: 'skips a tick beside a run that has not ended, if it may not',
      given: { job: policies.Forbid, runs: [run('00:00')] },
      leftOut: [[1, 'run_still_active']],
      settled: '00:10',
    },
    {
      title: 'skips a tick beside a run that is being deleted',
      given: { job: policies.Forbid, runs: [run('00:00', 'Running', { isGoing: true })] },
      leftOut: [[1, 'run_still_active']],
      settled: '00:10',
    },
    {
      title: 'skips a tick beside a run of which nothing is known',
      given: { job: policies.Forbid, runs: [run('00:00', 'Running', { status: undefined })] },
      leftOut: [[1, 'run_still_active']],
      settled: '00:10',
    },
    {
      title: 'skips none beside a run that has ended',
      given: { job: policies.Forbid, runs: [run('00:00', 'Failed')] },
      creates: '00:10',
      settled: '00:10',
    },
    {
      title: 'deletes first what is to be replaced',
      given: { job: policies.Replace, runs: [run('00:00')] },
      removes: ['00:00'],
      settled: '00:00',
    },
    {
      title: 'waits until it is gone',
      given: { job: policies.Replace, runs: [run('00:00', 'Running', { isGoing: true })] },
      settled: '00:00',
    },
    {
      title: 'misses the ticks before the last one while it waits for that',
      given: { job: policies.Replace, now: ms('00:35'), runs: [run('00:00', 'Running', { isGoing: true })] },
      leftOut: [[2, 'runs_missed']],
      settled: '00:20',
    },
    {
      title: 'then makes the run',
      given: { job: policies.Replace, now: ms('00:12') },
      creates: '00:10',
      settled: '00:10',
    },
    {
      title: 'makes none beside fifty that have not ended',
      given: { runs: Array.from({ length: 50 }, () => run('00:00', 'Pending')) },
      leftOut: [[1, 'run_limit_reached']],
      settled: '00:10',
    },
    {
      title: 'makes none under the name of another job',
      given: { isTaken: name => name === runName('00:10') },
      leftOut: [[1, 'run_name_taken']],
      settled: '00:10',
    },
    {
      title: 'takes a run that is there for made, whatever the status says',
      given: { runs: [run('00:10')], isTaken: () => true },
      settled: '00:10',
    },
    {
      title: 'keeps three that succeeded and one that failed',
      given: {
        status: statusUntil('00:10'),
        runs: [
          run('00:01', 'Failed'),
          run('00:02', 'Succeeded'),
          run('00:05', 'Succeeded'),
          run('00:04', 'Succeeded'),
          run('00:03', 'Succeeded'),
          run('00:06', 'Failed'),
        ],
      },
      removes: ['00:02', '00:01'],
      settled: '00:10',
    },
    {
      title: 'keeps a run for as long as it is asked to',
      given: {
        job: makeJob({ ttlSecondsAfterFinished: 240 }),
        status: statusUntil('00:10'),
        runs: [run('00:05', 'Succeeded'), run('00:07', 'Succeeded'), run('00:01')],
      },
      removes: ['00:05'],
      settled: '00:10',
    },
  ];
  for (const { title, given, creates, leftOut = [], removes = [], settled } of cases) {
    it(title, () => {
      const decision = decide(given);
      expect(decision.create).to.deep.equal(creates && { name: runName(creates), scheduledAt: at(creates) });
      expect(decision.leftOut.map(({ count, reason }) => [count, reason])).to.deep.equal(leftOut);
      expect(decision.remove.map(({ name }) => name)).to.deep.equal(removes.map(runName));
      expect((decision.status ?? given.status)?.settledUntil).to.equal(settled && at(settled));
      expect(decision.isGone).to.equal(false);
    });
  }

  it('promises no run while it waits for one to stop, and says for which', () => {
    const { status } = decide({ job: policies.Replace, runs: [run('00:00', 'Running', { isGoing: true })] });
    expect(status?.message).to.equal(`the tick of ${at('00:10')} waits until ${runName('00:00')} has stopped`);
    expect(status).to.not.have.property('nextRunAt');
    expect(decide({ now: ms('00:09') }).status).to.include({ nextRunAt: at('00:10') });
  });

  it('tells what runs, what ran last and what comes next', () => {
    const { status, afterMs } = decide({ runs: [run('00:05'), run('00:02', 'Failed')] });
    const runs: RunStatus[] = [
      { name: runName('00:02'), scheduledAt: at('00:02'), phase: 'Failed', exitCode: 1, finishedAt: at('00:02') },
      { name: runName('00:05'), scheduledAt: at('00:05'), phase: 'Running' },
      { name: runName('00:10'), scheduledAt: at('00:10'), phase: 'Pending' },
    ];
    expect(status).to.deep.include({
      phase: 'Scheduled',
      lastScheduledAt: at('00:10'),
      nextRunAt: at('00:20'),
      active: [runName('00:05'), runName('00:10')],
      lastRun: runs[2],
      runs,
    });
    expect(status).to.not.have.property('missed');
    expect(afterMs).to.equal(300_000);
    expect(decide({ now: ms('00:19') }).afterMs).to.equal(60_000);
  });

  it('remembers the last run when it is not kept any more, and what was missed', () => {
    const lastRun = { name: runName('00:00'), scheduledAt: at('00:00'), phase: 'Succeeded', exitCode: 0 } as const;
    const missed = { count: 3, lastAt: at('00:00'), reason: 'run_still_active' } as const;
    const known = { lastRun, missed };
    expect(decide({ status: statusUntil('00:10', known) }).status).to.deep.include(known);
    const running = { ...lastRun, phase: 'Running' } as const;
    const { status } = decide({ status: statusUntil('00:10', { lastRun: running }) });
    expect(status?.lastRun).to.deep.equal({ ...running, phase: 'Deleted' });
    const more = decide({ status: statusUntil('00:00', known), now: ms('00:20') }).status;
    expect(more?.missed).to.deep.equal({ count: 4, lastAt: at('00:10'), reason: 'runs_missed' });
  });

  it('stores nothing that is stored already', () => {
    const { status } = decide();
    expect(decide({ status, runs: [run('00:10', 'Pending')] })).to.not.have.property('status');
  });

  it('deletes the runs of a job that is deleted, some at a time, and then the job', () => {
    const job = makeJob({ metadata: { ...makeJob().metadata, deletedAt: at('00:09') } });
    const runs = ['00:01', '00:02', '00:03', '00:04', '00:05'].map(clock => run(clock));
    expect(decide({ job, runs }).remove).to.deep.equal(runs.slice(0, 4));
    const going = runs.map(each => ({ ...each, isGoing: true }));
    expect(decide({ job, runs: going })).to.deep.include({ remove: [], isGone: false });
    const last = decide({ job });
    expect(last).to.include({ isGone: true });
    expect(last.create).to.equal(undefined);
  });

  for (const change of [{ schedule: 'nonsense' }, { timeZone: 'Mars/Olympus' }]) {
    it(`is not stopped by a stored job with ${JSON.stringify(change)}`, () => {
      const decision = decide({ job: makeJob(change) });
      expect(decision.status).to.include({ reason: 'schedule_unusable', settledUntil: at('00:00') });
      expect(decision.create).to.equal(undefined);
    });
  }

  it('property: whatever the clock does and whenever it is asked, no tick has two runs, and each after the last', () => {
    const clocks = fc.array(fc.integer({ min: 0, max: 12 * 60 }), { minLength: 1, maxLength: 30 });
    const policy = fc.constantFrom('Allow', 'Forbid', 'Replace');
    fc.assert(
      fc.property(clocks, policy, fc.infiniteStream(fc.boolean()), (minutes, concurrencyPolicy, coins) => {
        let status: JobStatus | undefined;
        let runs: ObservedRun[] = [];
        const made: string[] = [];
        for (const minute of minutes) {
          const now = ms('00:00') + minute * 60_000;
          const job = makeJob({ concurrencyPolicy });
          const decision = decide({ job, status, runs, now, isTaken: name => runs.some(each => each.name === name) });
          status = decision.status ?? status;
          const active = runs.filter(each => each.status?.phase === 'Running');
          if (decision.create) {
            if (concurrencyPolicy !== 'Allow') expect(active).to.deep.equal([]);
            made.push(decision.create.scheduledAt);
            runs.push({ ...run('00:00'), ...decision.create });
          }
          // Deleted ones go; of the others some end.
          runs = runs.filter(each => !decision.remove.some(({ name }) => name === each.name));
          runs = runs.map(each => (coins.next().value ? { ...each, status: run('00:00', 'Succeeded').status } : each));
        }
        expect(made).to.deep.equal([...new Set(made)].toSorted());
      }),
      { numRuns: 100 },
    );
  });
});
