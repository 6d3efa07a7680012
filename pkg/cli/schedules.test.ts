import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';

const CREATED = '2026-01-01T00:00:00.000Z';
const metadata = { tenant: 't', uid: 'job_1', generation: 1, revision: '5', createdAt: CREATED, updatedAt: CREATED };
const run = (minute: number, phase: string, more: object = {}) => ({
  name: `nightly-2945${minute}`,
  scheduledAt: `2026-01-01T0${minute}:00:00.000Z`,
  phase,
  ...more,
});
const runs = [run(1, 'Failed', { exitCode: 3, finishedAt: CREATED }), run(2, 'Running')];
const nightly = {
  metadata,
  kind: 'Job',
  name: 'nightly',
  image: 'registry.example.com/nightly:1',
  restartPolicy: 'OnFailure',
  backoffLimit: 3,
  schedule: '0 * * * *',
  timeZone: 'Europe/Berlin',
  concurrencyPolicy: 'Forbid',
  status: {
    phase: 'Scheduled',
    message: 'the next run is due at 2099-01-01T03:00:00.000Z',
    attempts: 0,
    history: [],
    settledUntil: runs[1]!.scheduledAt,
    lastScheduledAt: runs[1]!.scheduledAt,
    nextRunAt: '2099-01-01T03:00:00.000Z',
    active: [runs[1]!.name],
    lastRun: runs[1],
    runs,
    missed: { count: 4, lastAt: CREATED, reason: 'runs_missed' },
  },
};

describe('a job with a schedule on the command line', () => {
  const lab = useCommandLab();
  const reply = (path: string, body: object) => lab.api.replies.set(path, { status: 200, body });

  it('is listed with its schedule and its next run', async () => {
    reply('GET /api/v1/jobs', { items: [nightly], revision: '5' });
    const { out } = await lab.moor(['jobs']);
    const [titles = '', row = ''] = out.split('\n').map(line => line.split(/ {2,}/).join('|'));
    expect(titles).to.contain('SCHEDULE|NEXT RUN');
    expect(row).to.contain('nightly|Scheduled');
    expect(row).to.contain('0 * * * *|2099-01-01T03:00:00.000Z');
    expect(row).to.not.contain('/4');
  });

  it('is described with its runs and what was missed', async () => {
    reply('GET /api/v1/jobs/nightly', nightly);
    reply('GET /api/v1/events', { items: [] });
    const { code, out } = await lab.moor(['describe', 'job', 'nightly']);
    expect(code, out).to.equal(0);
    for (const line of [
      /^Schedule: +0 \* \* \* \* \(Europe\/Berlin\)$/m,
      /^Overlapping: +Forbid$/m,
      /^Next run: +2099-01-01T03:00:00.000Z \(in \d+/m,
      /^Last run: +nightly-29452, due at 2026-01-01T02:00:00.000Z: Running$/m,
      /^Active: +nightly-29452$/m,
      /^Without a run: +4 ticks, the last one at 2026-01-01T00:00:00.000Z: runs_missed$/m,
      /^ +nightly-29452 .*Running.*\n +nightly-29451 .*Failed +3 /m,
    ]) {
      expect(out).to.match(line);
    }
    expect(out).to.not.contain('ATTEMPT ');
  });

  it('is said of each of its runs', async () => {
    const { schedule: _s, timeZone: _z, concurrencyPolicy: _c, ...plain } = nightly;
    const owned = { ...metadata, owner: { name: 'nightly', uid: 'job_1' }, scheduledAt: runs[0]!.scheduledAt };
    const status = { phase: 'Running', message: '', attempts: 1, history: [] };
    reply('GET /api/v1/jobs/nightly-29451', { ...plain, name: 'nightly-29451', metadata: owned, status });
    reply('GET /api/v1/events', { items: [] });
    const { out } = await lab.moor(['describe', 'job', 'nightly-29451']);
    expect(out).to.match(/^Run of: +nightly, due at 2026-01-01T01:00:00.000Z$/m);
    expect(out).to.match(/^Restart policy: +OnFailure$/m);
    expect(out).to.match(/^Attempts: +1 of 4$/m);
  });

  it('has the log of its last run', async () => {
    reply('GET /api/v1/jobs/nightly', nightly);
    reply('GET /api/v1/jobs/nightly-29452', { ...nightly, schedule: undefined, status: { attempts: 1, history: [] } });
    await lab.moor(['logs', 'job/nightly', '--no-follow']);
    expect(lab.api.got.at(-1)!.path).to.contain('/api/v1/jobs/nightly-29452/logs');
  });

  it('has no log before its first run, and says when that is due', async () => {
    const { lastRun: _, ...status } = { ...nightly.status, runs: [], active: [] };
    reply('GET /api/v1/jobs/nightly', { ...nightly, status });
    const { code, err } = await lab.moor(['logs', 'job/nightly', '--follow']);
    expect([code, err]).to.deep.equal([
      3,
      'job/nightly has had no run yet: the next run is due at 2099-01-01T03:00:00.000Z\n',
    ]);
    expect(lab.api.got.at(-1)!.path).to.equal('/api/v1/jobs/nightly');
  });

  it('says that its last run is not kept any more', async () => {
    reply('GET /api/v1/jobs/nightly', { ...nightly, status: { ...nightly.status, runs: [runs[0]] } });
    const { code, err } = await lab.moor(['logs', 'job/nightly']);
    expect(code).to.equal(3);
    expect(err).to.contain('nightly-29452').and.contain('2099-01-01T03:00:00.000Z');
    expect(err).to.contain('"moor describe job nightly"');
    expect(lab.api.got.at(-1)!.path).to.equal('/api/v1/jobs/nightly');
  });

  it('is applied like any job', async () => {
    lab.api.replies.set('POST /api/v1/jobs', { status: 201, body: { ...nightly, alterations: [], warnings: [] } });
    const readInput = () => Promise.resolve('kind: Job\nname: nightly\nimage: x/y:1\nschedule: "0 * * * *"\n');
    const { code, out } = await lab.moor(['apply', '-f', '-'], { readInput });
    expect([code, out]).to.deep.equal([0, 'job/nightly created\n']);
    expect(lab.api.got.at(-1)!.body).to.include({ schedule: '0 * * * *' });
  });
});
