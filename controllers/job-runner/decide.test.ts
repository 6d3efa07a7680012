import { expect } from 'chai';
import fc from 'fast-check';

import type { AttemptStatus, JobStatus, StoredJob } from '../../crds/job/index.js';
import type { Report } from '../../crds/report/index.js';
import type { ObservedReplica } from '../reading/index.js';
import { decideJob, type JobDecision, type JobInput } from './decide.js';

const NOW = Date.parse('2030-01-01T00:01:00.000Z');
const AT = '2030-01-01T00:01:00.000Z';
const EARLIER = '2030-01-01T00:00:00.000Z';

const makeJob = (change: Partial<StoredJob> = {}): StoredJob => ({
  metadata: { tenant: 't1', uid: 'job_1', generation: 1, createdAt: EARLIER, updatedAt: EARLIER, specHash: 'h' },
  kind: 'Job',
  name: 'migrate',
  image: 'migrate:1',
  backoffLimit: 3,
  ...change,
});
const deleted = () => makeJob({ metadata: { ...makeJob().metadata, deletedAt: AT } });

const attempt = (change: Partial<AttemptStatus> = {}): AttemptStatus => ({
  attempt: 1,
  uid: 'a0',
  state: 'Pending',
  ...change,
});
const statusOf = (history: readonly AttemptStatus[], change: Partial<JobStatus> = {}): JobStatus => ({
  uid: 'job_1',
  phase: 'Pending',
  message: '',
  attempts: history.at(-1)?.attempt ?? 0,
  history,
  ...change,
});

const record = (change: Partial<ObservedReplica> = {}, replica: Partial<ObservedReplica['replica']> = {}) => ({
  replica: {
    uid: 'a0',
    tenant: 't1',
    deployment: 'job.migrate',
    deploymentUid: 'job_1',
    slot: 1,
    generation: 1,
    templateHash: 'h',
    template: { image: 'migrate:1', secretsVersion: 0 },
    nodeId: 'node_1',
    createdAt: EARLIER,
    once: {},
    ...replica,
  },
  revision: 1,
  report: undefined,
  node: 'well' as const,
  nodeName: 'n1',
  misplaced: false,
  ...change,
});

const reported = (state: Report['state'], change: Partial<Report> = {}): Report => ({
  replica: 'a0',
  deployment: 'job.migrate',
  slot: 1,
  nodeId: 'node_1',
  templateHash: 'h',
  state,
  health: 'none',
  restarts: 0,
  at: AT,
  ...change,
});

const decide = (change: Partial<JobInput>): JobDecision =>
  decideJob({ job: makeJob(), status: undefined, records: [], now: NOW, newUid: 'new', ...change });

const lost = { by: 'heartbeat_missed', still: { key: 'node-status/t1/n1', at: 3 } } as const;

/** A decision in words: `create 1, retire a0, Failed exit 3`. */
const tell = ({ status, create, retire, clear, remove, afterMs }: JobDecision): string =>
  [
    ...(create ? [`create ${create.attempt}`] : []),
    ...retire.map(({ replica }) => `retire ${replica.uid}`),
    ...clear.map(({ replica }) => `clear ${replica.uid}`),
    ...(remove ? ['remove'] : []),
    ...(status ? [`${status.phase}${status.exitCode === undefined ? '' : ` exit ${status.exitCode}`}`] : []),
    ...(afterMs === undefined ? [] : [`after ${afterMs}`]),
  ].join(', ');

describe('the next step of a job', () => {
  const open = statusOf([attempt()]);
  const scheduled = makeJob({ schedule: '* * * * *' });
  const exited = (exitCode: number, change: Partial<Report> = {}) =>
    record({ report: reported('exited', { exitCode, reason: 'container_exited', ...change }) });
  /** As it is stored after a failure of which the back-off is over now. */
  const waiting = decide({ status: open, records: [exited(3)], now: NOW - 2_000 }).status;
  const cases: readonly [name: string, input: Partial<JobInput>, decision: string][] = [
    ['a new job gets its first attempt', {}, 'create 1, Pending'],
    [
      'an attempt that waits for a node is waited for',
      { status: open, records: [record({ node: 'nowhere' })] },
      'Pending',
    ],
    ['one that runs is shown', { status: open, records: [record({ report: reported('running') })] }, 'Running'],
    [
      'exit code 0 is success, and its container goes',
      { status: open, records: [exited(0)] },
      'retire a0, Succeeded exit 0',
    ],
    [
      'a failure waits for its back-off',
      { status: open, records: [exited(3)] },
      'retire a0, Pending exit 3, after 2000',
    ],
    [
      'the last failure is the end',
      { job: makeJob({ backoffLimit: 0 }), status: open, records: [exited(3)] },
      'retire a0, Failed exit 3',
    ],
    [
      'one that was stopped for its time has failed, whatever its exit code',
      {
        job: makeJob({ backoffLimit: 0 }),
        status: open,
        records: [exited(0, { reason: 'timed_out', message: 'late' })],
      },
      'retire a0, Failed exit 0',
    ],
    [
      'one of which nothing is known has failed without an exit code',
      {
        job: makeJob({ backoffLimit: 0 }),
        status: open,
        records: [record({ report: reported('exited', { reason: 'container_lost' }) })],
      },
      'retire a0, Failed',
    ],
    [
      'one whose pull fails is waited for',
      { status: open, records: [record({ report: reported('failed') })] },
      'Pending',
    ],
    [
      'one that is called ended without a word on how is waited for',
      { status: open, records: [record({ report: reported('exited', { reason: 'container_exited' }) })] },
      'Pending',
    ],
    [
      'one that is called ended while it waits for its first start is waited for',
      { status: open, records: [record({ report: reported('exited', { reason: 'crash_loop' }) })] },
      'Pending',
    ],
    ['one on a silent node is waited for', { status: open, records: [record({ node: 'failed' })] }, 'Pending'],
    [
      'one on a lost node has failed',
      { status: open, records: [record({ node: 'failed', lost })] },
      'clear a0, Pending, after 2000',
    ],
    [
      'an exit code that was reported before its node was lost counts',
      { status: open, records: [{ ...exited(0), node: 'failed', lost }] },
      'clear a0, Succeeded exit 0',
    ],
    [
      'one whose volume was promoted on another node has failed, though its own node is well',
      { status: open, records: [{ ...exited(0), isLeftBehind: true }] },
      'retire a0, Pending, after 2000',
    ],
    [
      'one on a removed node has failed',
      { status: open, records: [record({ node: 'gone' })] },
      'clear a0, Pending, after 2000',
    ],
    [
      'one on a node that breaks the residency has failed',
      { status: open, records: [record({ misplaced: true })] },
      'retire a0, Pending, after 2000',
    ],
    [
      'one that runs on a draining node may end',
      {
        status: statusOf([attempt({ state: 'Running', nodeId: 'node_1', nodeName: 'n1' })], {
          phase: 'Running',
          message: 'attempt 1 of 4 runs on n1',
        }),
        records: [record({ draining: true, report: reported('running') })],
      },
      '',
    ],
    [
      'one that has not started on a draining node has failed: the next one is elsewhere',
      { status: open, records: [record({ draining: true, report: reported('failed') })] },
      'retire a0, Pending, after 2000',
    ],
    [
      'one on a draining node of which nothing is seen is waited for',
      { status: open, records: [record({ draining: true, node: 'unobserved' })] },
      'Pending',
    ],
    ['one without a record has failed', { status: open }, 'Pending, after 2000'],
    [
      'an ended attempt is retired again when the first time was lost',
      { status: waiting, records: [record()] },
      'retire a0',
    ],
    [
      'its record goes when its container has',
      {
        status: waiting,
        records: [record({ report: reported('removed') }, { retiringSince: AT })],
      },
      'clear a0',
    ],
    [
      'the next attempt waits for the container of the one before',
      {
        status: waiting,
        records: [record({ report: reported('stopping') }, { retiringSince: AT })],
      },
      '',
    ],
    [
      'the next attempt follows after the back-off, without the exit code of the last',
      { status: waiting },
      'create 2, Pending',
    ],
    [
      'one of which nothing is known has no exit code, although an earlier one had',
      {
        job: makeJob({ backoffLimit: 1 }),
        status: statusOf([attempt({ state: 'Failed', exitCode: 3 }), attempt({ attempt: 2, uid: 'a1' })], {
          exitCode: 3,
        }),
        records: [record({ node: 'gone' }, { uid: 'a1', slot: 2 })],
      },
      'clear a1, Failed',
    ],
    ['and not before', { status: waiting, now: NOW - 1 }, 'after 1'],
    [
      'it waits no longer than its back-off when a clock that was ahead has stored the failure',
      { status: waiting, now: NOW - 86_400_000 },
      'Pending exit 3, after 2000',
    ],
    [
      'a finished job stays',
      { status: statusOf([attempt({ state: 'Succeeded' })], { phase: 'Succeeded', finishedAt: EARLIER }) },
      '',
    ],
    [
      'it is kept for as long as it says',
      {
        job: makeJob({ ttlSecondsAfterFinished: 90 }),
        status: statusOf([attempt({ state: 'Succeeded' })], { phase: 'Succeeded', finishedAt: EARLIER }),
      },
      'after 30000',
    ],
    [
      'by the clock of now, when one that was ahead has stored its end',
      {
        job: makeJob({ ttlSecondsAfterFinished: 90 }),
        status: statusOf([attempt({ state: 'Succeeded' })], { phase: 'Succeeded', finishedAt: AT }),
        now: Date.parse(EARLIER),
      },
      'Succeeded, after 90000',
    ],
    [
      'and no longer',
      {
        job: makeJob({ ttlSecondsAfterFinished: 60 }),
        status: statusOf([attempt({ state: 'Succeeded' })], { phase: 'Succeeded', finishedAt: EARLIER }),
      },
      'remove',
    ],
    [
      'but not before its container is gone',
      {
        job: makeJob({ ttlSecondsAfterFinished: 0 }),
        status: statusOf([attempt({ state: 'Succeeded' })], { phase: 'Succeeded', finishedAt: EARLIER }),
        records: [record()],
      },
      'retire a0',
    ],
    [
      'a deleted job is stopped',
      { job: deleted(), status: open, records: [record({ report: reported('running') })] },
      'retire a0',
    ],
    [
      'one that was never placed goes at once',
      { job: deleted(), status: open, records: [record({ node: 'nowhere' })] },
      'clear a0',
    ],
    ['it is removed last', { job: deleted(), status: open }, 'remove'],
    [
      'a record of an earlier job of the name goes first',
      { records: [record({}, { uid: 'old', deploymentUid: 'job_0' })] },
      'retire old, Pending',
    ],
    ['a record without a job goes', { job: undefined, records: [record()] }, 'retire a0'],
    ['a job with a schedule gets no attempt', { job: scheduled }, ''],
    ['one that another release made for it goes', { job: scheduled, status: open, records: [record()] }, 'retire a0'],
    ['and when it is deleted, others remove it', { job: { ...scheduled, metadata: deleted().metadata } }, ''],
  ];
  for (const [name, input, decision] of cases) {
    it(name, () => expect(tell(decide(input))).to.equal(decision));
  }

  it('doubles the back-off, and caps it at five minutes', () => {
    const waits = [1, 2, 3, 9, 21].map(number => {
      const seen = record({ report: reported('exited', { exitCode: 1 }) }, { uid: `a${number}`, slot: number });
      const status = statusOf([attempt({ attempt: number, uid: `a${number}` })]);
      return decide({ job: makeJob({ backoffLimit: 100 }), status, records: [seen] }).afterMs;
    });
    expect(waits).to.deep.equal([2_000, 4_000, 8_000, 300_000, 300_000]);
  });

  it('says why an attempt has not started', () => {
    const obstacle = { reason: 'unschedulable', message: '0 of 1 nodes: 1 ready' } as const;
    const { status } = decide({ status: open, records: [record({ node: 'nowhere' })], obstacle });
    expect(status).to.include(obstacle);
  });

  it('does not claim that one runs whose node nobody sees', () => {
    const obstacle = { reason: 'node_failed', message: 'no heartbeat' } as const;
    const seen = record({ report: reported('running'), node: 'failed' });
    expect(decide({ status: open, records: [seen], obstacle }).status).to.include({ phase: 'Running', ...obstacle });
    const { status } = decide({ status: open, records: [{ ...seen, node: 'well' }], obstacle });
    expect(status)
      .to.include({ phase: 'Running', message: 'attempt 1 of 4 runs on n1' })
      .and.not.have.property('reason');
  });

  it('makes no attempt twice, and never two at once, whatever happens in whatever order', () => {
    const step = fc.constantFrom('run', 'exit', 'fail', 'lose', 'remove', 'tick', 'place', 'crash');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 0, max: 4 }), (steps, backoffLimit) => {
        const job = makeJob({ backoffLimit });
        let status: JobStatus | undefined;
        let records: ObservedReplica[] = [];
        let now = NOW;
        const made = new Set<number>();
        const ends = new Map<string, number>();
        for (const [position, each] of steps.entries()) {
          records = records.map(seen => happen(seen, each, ends));
          if (each === 'tick') now += 400_000;
          const decision = decideJob({ job, status, records, now, newUid: `u${position}` });
          if (each === 'crash') continue; // nothing of it was stored
          if (decision.create) {
            expect(made.has(decision.create.attempt), 'made twice').to.equal(false);
            expect(records, 'two at once').to.deep.equal([]);
            made.add(decision.create.attempt);
          }
          status = decision.status ?? status;
          records = records
            .filter(seen => !decision.clear.includes(seen))
            .map(seen =>
              decision.retire.includes(seen) ? { ...seen, replica: { ...seen.replica, retiringSince: AT } } : seen,
            );
          if (decision.create) {
            const { uid, attempt: slot } = decision.create;
            records.push(record({ node: 'nowhere' }, { uid, slot }));
          }
        }
        expect(made.size).to.be.at.most(backoffLimit + 1);
        for (const { uid, exitCode, state } of status?.history ?? []) {
          if (state === 'Succeeded' || (state === 'Failed' && exitCode !== undefined)) {
            expect(exitCode).to.equal(ends.get(uid));
          }
        }
      }),
    );
  });
});

/** What may become of one record between two looks. */
function happen(seen: ObservedReplica, what: string, ends: Map<string, number>): ObservedReplica {
  const isPlaced = seen.node === 'well';
  const { uid, retiringSince } = seen.replica;
  if (what === 'place' && seen.node === 'nowhere') return { ...seen, node: 'well' };
  if (!isPlaced) return seen;
  if (what === 'run' && !seen.report) return { ...seen, report: reported('running') };
  if ((what === 'exit' || what === 'fail') && seen.report?.state === 'running') {
    const exitCode = what === 'exit' ? 0 : 3;
    ends.set(uid, exitCode);
    return { ...seen, report: reported('exited', { exitCode, reason: 'container_exited' }) };
  }
  if (what === 'lose') return { ...seen, node: 'failed', lost };
  if (what === 'remove' && retiringSince) return { ...seen, report: reported('removed') };
  return seen;
}
