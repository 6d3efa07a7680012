import { expect } from 'chai';

import type { Replica } from '../../../crds/replica/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { replica } from '../../link/dispatcher-lab.testing.js';
import { Attempts } from './attempts.js';
import { createMemoryDisk } from '../disk.js';
import {
  type ContainerStatus,
  EngineRefusedFault,
  EngineUnreachableFault,
  NameConflictFault,
} from '../engine/index.js';
import { type AttemptFacts, decideNextStep } from './next-step.js';
import { NodeLab } from '../node-lab.testing.js';

const attempt = (changes: Partial<Replica> = {}): Replica =>
  replica({ deployment: 'job.migrate', deploymentUid: 'job_1', once: {}, ...changes });

describe('the next step of an attempt', () => {
  const facts: AttemptFacts = { wasStarted: false, hasFailed: false, confirmMs: 0, leftMs: Infinity };
  const cases: readonly [
    name: string,
    state: ContainerStatus['state'] | 'none',
    given: Partial<AttemptFacts>,
    kind: string,
  ][] = [
    ['creates the first container', 'none', {}, 'create'],
    ['starts it', 'created', {}, 'start'],
    ['lets it run', 'running', { wasStarted: true }, 'settled'],
    ['stops it when its time is over', 'running', { wasStarted: true, leftMs: 0 }, 'interrupt'],
    ['stops it when it was about to be stopped before', 'running', { wasStarted: true, hasFailed: true }, 'interrupt'],
    ['leaves it when it has ended', 'exited', { wasStarted: true }, 'settled'],
    ['leaves it when it has ended, also if nothing was noted', 'exited', {}, 'settled'],
    ['creates no second one', 'none', { wasStarted: true }, 'settled'],
    ['waits for what the engine makes of a start', 'created', { wasStarted: true, confirmMs: 1 }, 'confirm'],
    ['starts nothing twice', 'created', { wasStarted: true }, 'abandon'],
    ['removes what the engine did not start', 'created', { wasStarted: true, hasFailed: true }, 'remove'],
  ];
  const { template: _, once: __, ...owner } = attempt();
  for (const [name, state, given, kind] of cases) {
    it(name, () => {
      const container =
        state === 'none'
          ? undefined
          : ({ id: 'c', name: 'job.migrate.0', owner, state, health: 'none', exitCode: undefined } as never);
      const input = { wanted: 'run', container, imageMissing: false, backoffMs: 0 } as const;
      expect(decideNextStep({ ...input, attempt: { ...facts, ...given } })).to.deep.equal({ kind });
    });
  }
});

const LIMIT = 10 * 2 ** 20;

describe('an agent with an attempt of a job', () => {
  let lab: NodeLab;
  let starts: number;
  beforeEach(async () => {
    lab = new NodeLab();
    starts = 0;
    lab.failure = (operation, when) => {
      if (operation === 'start' && when === 'after') starts++;
      return undefined;
    };
    lab.containerDiskBytes = LIMIT;
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  /** Programs that end well when they are asked to. */
  const stopWell = () => {
    lab.engine.stop = async id => {
      const failed = lab.failure?.('stop', 'before');
      if (failed) throw failed;
      lab.engine.crash(id, 0);
    };
  };
  const begin = async (changes: Partial<Replica> = {}) => {
    await lab.assign(attempt(changes));
    await lab.clock.pass(2_000);
  };
  const end = async (exitCode: number) => {
    lab.engine.crash(lab.engine.containers[0]!.id, exitCode);
    await lab.clock.pass(2_000);
  };

  it('reports its end with its exit code, and starts it never again', async () => {
    await begin();
    expect(lab.report('rep_1')).to.include({ state: 'running' });
    expect(lab.report('rep_1')?.startedAt).to.be.a('string');
    await end(3);
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 3 });
    await lab.clock.pass(600_000);
    expect(starts).to.equal(1);
    expect(lab.running).to.deep.equal(['job.migrate.0 exited']);
  });

  it('keeps the container until it is told to remove it', async () => {
    await begin();
    await end(0);
    await lab.stopAgent();
    await lab.startAgent();
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 0 });
    await lab.assign(attempt({ retiringSince: 'now' }));
    await lab.clock.pass(2_000);
    expect(lab.report('rep_1')?.state).to.equal('removed');
    expect(starts).to.equal(1);
  });

  it('learns of an end while it was away', async () => {
    await begin();
    await lab.stopAgent();
    await end(7);
    await lab.startAgent();
    await lab.clock.pass(2_000);
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 7 });
    expect(starts).to.equal(1);
  });

  it('says that nothing is known when the container is gone, also after a restart', async () => {
    await begin();
    await lab.stopAgent();
    await lab.engine.remove(lab.engine.containers[0]!.id);
    await lab.startAgent();
    await lab.clock.pass(60_000);
    const { exitCode, ...report } = lab.report('rep_1')!;
    expect(exitCode).to.equal(undefined);
    expect(report).to.include({ state: 'exited', reason: 'container_lost' });
    expect(starts).to.equal(1);
  });

  it('keeps an exit code that it has seen, although the container is gone', async () => {
    await begin();
    await end(4);
    await lab.stopAgent();
    await lab.engine.remove(lab.engine.containers[0]!.id);
    await lab.startAgent();
    await lab.clock.pass(60_000);
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 4 });
  });

  it('asks the engine once to start it, whatever the engine answers', async () => {
    let asked = 0;
    lab.failure = (operation, when) => {
      if (operation !== 'start' || when !== 'before') return undefined;
      asked++;
      return new EngineUnreachableFault('it did not answer');
    };
    await begin();
    await lab.clock.pass(120_000);
    expect(asked).to.equal(1);
    expect(lab.report('rep_1')).to.include({ state: 'exited', reason: 'start_unconfirmed' });
    expect(lab.running).to.deep.equal([]);
  });

  it('finds what the engine has started without saying so', async () => {
    lab.failure = (operation, when) => {
      if (operation !== 'start' || when !== 'after') return undefined;
      starts++;
      return new EngineUnreachableFault('the answer was lost');
    };
    await begin();
    await lab.clock.pass(60_000);
    expect(lab.report('rep_1')).to.include({ state: 'running' });
    expect(starts).to.equal(1);
  });

  const refusals = {
    start_failed: new EngineRefusedFault(400, 'no such program'),
    name_conflict: new NameConflictFault('mooring-net', 'network'),
  };
  for (const [reason, refusal] of Object.entries(refusals))
    it(`reports a start that is refused as its end, with the cause: ${reason}`, async () => {
      lab.failure = (operation, when) => (operation === 'start' && when === 'before' ? refusal : undefined);
      await begin();
      await lab.clock.pass(60_000);
      expect(lab.report('rep_1')).to.include({ state: 'exited', reason, message: refusal.message });
      expect(lab.running).to.deep.equal([]);
    });

  it('stops it when its time is over, also after a restart', async () => {
    await begin({ once: { timeoutSeconds: 30 } });
    await lab.clock.pass(20_000);
    await lab.stopAgent();
    expect(lab.running).to.deep.equal(['job.migrate.0 running']);
    await lab.startAgent();
    await lab.clock.pass(30_000);
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 143, reason: 'timed_out' });
    expect(starts).to.equal(1);
  });

  it('does not call one ended that is created and waits for its start', async () => {
    const seen = new Set<string>();
    let refusals = 0;
    lab.failure = (operation, when) => {
      if (operation === 'start' && when === 'after') starts++;
      if (operation !== 'create' || when !== (refusals < 2 ? 'before' : 'after')) return undefined;
      refusals++;
      return new EngineRefusedFault(500, 'busy');
    };
    await lab.assign(attempt());
    for (let step = 0; step < 100; step++) {
      await lab.clock.pass(100);
      seen.add(`${lab.engine.containers[0]?.state ?? 'no'} container, ${lab.report('rep_1')?.state}`);
    }
    expect([refusals, starts]).to.deep.equal([3, 1]);
    expect([...seen].filter(each => each.startsWith('created'))).to.deep.equal(['created container, failed']);
    expect(lab.report('rep_1')).to.include({ state: 'running' });
  });

  it('says why it has stopped it, although its program ended well and the clock was set back', async () => {
    stopWell();
    const now = lab.clock.now.bind(lab.clock);
    await begin({ once: { timeoutSeconds: 30 } });
    await lab.clock.pass(20_000);
    const stop = lab.engine.stop.bind(lab.engine);
    lab.engine.stop = id => {
      lab.clock.now = () => now() - 3_600_000;
      return stop(id);
    };
    await lab.clock.pass(10_000);
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 0, reason: 'timed_out' });
  });

  it('says that it has stopped it for its disk, although its program ended well', async () => {
    stopWell();
    await begin();
    lab.engine.written.set(lab.engine.containers[0]!.id, 2 * LIMIT);
    await lab.clock.pass(70_000);
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 0, reason: 'disk_limit_exceeded' });
    expect(lab.report('rep_1')?.message).to.include('wrote 20 MiB').and.not.include('fresh one');
    await lab.stopAgent();
    await lab.engine.remove(lab.engine.containers[0]!.id);
    await lab.startAgent();
    await lab.clock.pass(5_000);
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 0, reason: 'disk_limit_exceeded' });
  });

  it('knows why it was about to stop it when it dies before the engine has', async () => {
    stopWell();
    await begin({ once: { timeoutSeconds: 30 } });
    lab.failure = (operation, when) =>
      operation === 'stop' && when === 'before' ? new EngineUnreachableFault('it did not answer') : undefined;
    await lab.clock.pass(40_000);
    await lab.stopAgent();
    await end(0);
    lab.failure = undefined;
    await lab.startAgent();
    await lab.clock.pass(2_000);
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 0, reason: 'timed_out' });
  });

  it('does not blame the time when its program has ended by itself', async () => {
    await begin({ once: { timeoutSeconds: 30 } });
    await lab.stopAgent();
    await lab.clock.pass(60_000);
    lab.engine.crash(lab.engine.containers[0]!.id, 0);
    await lab.startAgent();
    await lab.clock.pass(2_000);
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 0, reason: 'container_exited' });
  });

  /** A disk that is full, as far as the notes are concerned. Returns what makes place on it. */
  const fillDisk = () => {
    const write = lab.disk.write.bind(lab.disk);
    lab.disk.write = (name, text) =>
      name === 'attempts.json' ? Promise.reject(new Error('ENOSPC: no space left on device')) : write(name, text);
    return () => void (lab.disk.write = write);
  };

  it('stops none while it cannot note why', async () => {
    stopWell();
    await begin({ once: { timeoutSeconds: 30 } });
    const makePlace = fillDisk();
    await lab.clock.pass(120_000);
    expect(lab.running).to.deep.equal(['job.migrate.0 running']);
    makePlace();
    await lab.clock.pass(60_000);
    await lab.stopAgent();
    await lab.startAgent();
    await lab.clock.pass(2_000);
    expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 0, reason: 'timed_out' });
  });

  it('starts none while it cannot note that, and does so when it can', async () => {
    const makePlace = fillDisk();
    await begin();
    await lab.clock.pass(60_000);
    expect(starts).to.equal(0);
    makePlace();
    await lab.clock.pass(120_000);
    expect(lab.report('rep_1')).to.include({ state: 'running' });
    expect(starts).to.equal(1);
  });

  for (const [ranMs, reason] of [
    [40_000, 'timed_out'],
    [20_000, 'container_exited'],
  ] as const) {
    it(`takes one whose note is lost for ${reason} when it ran for ${ranMs} ms of 30 s`, async () => {
      await begin({ once: { timeoutSeconds: 30 } });
      await lab.stopAgent();
      await lab.clock.pass(ranMs - 12_000);
      await end(0);
      lab.files.delete('attempts.json');
      await lab.startAgent();
      await lab.clock.pass(2_000);
      expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 0, reason });
    });
  }

  it('creates none again whose note is lost, when its container was seen', async () => {
    await begin();
    await lab.stopAgent();
    lab.files.delete('attempts.json');
    await lab.startAgent();
    await lab.clock.pass(2_000);
    await lab.engine.remove(lab.engine.containers[0]!.id);
    await lab.clock.pass(60_000);
    expect(starts).to.equal(1);
    expect(lab.report('rep_1')).to.include({ state: 'exited' });
  });
});

describe('the attempts that an agent has noted', () => {
  it('are forgotten when there are many, the oldest first, and never while they are assigned', async () => {
    const files = new Map<string, string>();
    const load = () => Attempts.load({ clock: new ManualClock(), disk: createMemoryDisk(files) }, wanted);
    const wanted = (uid: string) => (uid === 'old-0' ? 'run' : uid === 'old-1' ? 'unknown' : 'nothing');
    const attempts = await load();
    for (const uid of ['old-0', 'old-1', 'old-2']) await attempts.noteStart(uid);
    for (let number = 0; number < 1_000; number++) await attempts.noteStart(`new-${number}`);
    const again = await load();
    const isKnown = async (uid: string) => (await again.observe(attempt({ uid }), undefined))?.wasStarted;
    const known = await Promise.all(['old-0', 'old-1', 'old-2', 'new-999'].map(isKnown));
    expect(known).to.deep.equal([true, true, false, true]);
  });
});
