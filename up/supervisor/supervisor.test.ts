import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { sleep, systemClock } from '../../pkg/clock/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { Home, type PlanProgress } from '../home/home.js';
import { terminateProcess, isAlive } from '../machine/os-process.js';
import type { ProcessPart, PartStages } from '../parts/part.js';
import { serverPart } from '../parts/control-plane.js';
import { etcdPart } from '../parts/services.js';
import { stopParts } from '../down.js';
import { Supervisor } from './supervisor.js';

/** A part that is nothing but a process. */
function sleeper(name: string, recipe = 'r', starts: string[] = []): ProcessPart {
  return {
    kind: 'process',
    name,
    title: name,
    remedy: 'none',
    graceMs: 1_000,
    recipe: () => recipe,
    async start() {
      starts.push(name);
      const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
      child.unref();
      return { pid: child.pid!, facts: { [name]: String(child.pid) }, detail: '' };
    },
  };
}

describe('Supervisor', () => {
  let home: Home;
  let isInCharge: boolean;
  let skippedMs = 0;
  let stages: PartStages;
  let stop: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    home = new Home(mkdtempSync(join(tmpdir(), 'moor-up-')));
    home.create();
    home.plan.write({ id: 'p1', nodes: 1, engine: 'simulated' });
    begin();
  });

  afterEach(async () => {
    await leave();
    await stopParts(home, systemClock, () => undefined);
    rmSync(home.folder, { recursive: true });
  });

  const begin = () => {
    stop = new AbortController();
    stages = [];
    isInCharge = true;
    skippedMs = 0;
  };
  const supervise = (wanted: PartStages) => {
    stages = wanted;
    running = new Supervisor({
      home,
      clock: { ...systemClock, now: () => systemClock.now() + skippedMs },
      log: silentLogger,
      environment: {},
      isInCharge: () => isInCharge,
      planStages: async () => stages,
    }).run(stop.signal);
  };
  const leave = async () => {
    stop.abort();
    await running;
  };
  const outcome = (): PlanProgress['outcome'] | undefined => home.progress.read()?.outcome;
  const up = () => until('everything to be up', () => outcome() === 'up');
  const pid = (name: string) => home.records.read(name)?.process.pid;

  it('brings parts up in order, and gives each the facts of the ones before it', async () => {
    const seen: unknown[] = [];
    const curious: ProcessPart = {
      ...sleeper('b'),
      start: async env => {
        seen.push(env.facts);
        return sleeper('b').start(env);
      },
    };
    supervise([[[sleeper('a'), curious]]]);
    await up();

    expect(seen).to.deep.equal([{ a: String(pid('a')) }]);
    expect(home.progress.read()?.steps.map(({ name, state }) => [name, state])).to.deep.equal([
      ['a', 'done'],
      ['b', 'done'],
    ]);
  });

  it('stops when another supervisor has the claim, and leaves the parts running', async () => {
    supervise([[[sleeper('a')]]]);
    await up();
    isInCharge = false;
    await running;

    expect(isAlive(home.records.read('a')!.process)).to.equal(true);
  });

  it('restarts a part that was killed', async () => {
    supervise([[[sleeper('a')]]]);
    await up();
    const first = pid('a')!;
    await sleep(systemClock, 600); // past the first pause between two starts
    process.kill(first, 'SIGKILL');

    await until('a to be restarted', () => pid('a') !== first && isAlive(home.records.read('a')!.process));
  });

  it('takes over the parts of an earlier supervisor', async () => {
    supervise([[[sleeper('a')]]]);
    await up();
    const first = pid('a');
    await leave();
    home.plan.write({ id: 'p2', nodes: 1, engine: 'simulated' });
    begin();
    const starts: string[] = [];
    supervise([[[sleeper('a', 'r', starts)]]]);
    await until('the second plan to be up', () => home.progress.read()?.plan === 'p2' && outcome() === 'up');

    expect([pid('a'), starts]).to.deep.equal([first, []]);
  });

  it('replaces a part whose recipe changed, and ends a part that the plan no longer has', async () => {
    supervise([[[sleeper('a')], [sleeper('b')]]]);
    await up();
    const [a, b] = ['a', 'b'].map(name => home.records.read(name)!.process);
    stages = [[[sleeper('a', 'another')]]];

    await until('a to be replaced and b to be gone', () => pid('a') !== a!.pid && pid('b') === undefined);
    expect([a, b].map(identity => isAlive(identity!))).to.deep.equal([false, false]);
  });

  /** What becomes of a plan, as `moor up` waits for it. */
  const carryOut = async (id: string): Promise<PlanProgress> => {
    home.plan.write({ id, nodes: 1, engine: 'simulated' });
    await until('the plan to be carried out', () => {
      const progress = home.progress.read();
      return progress?.plan === id && progress.outcome !== 'working';
    });
    return home.progress.read()!;
  };

  it('replaces a part as often as its recipe changes, and does not take it for one that keeps ending', async () => {
    supervise([[[sleeper('a')]]]);
    await up();
    for (const recipe of ['s', 't', 'u', 'v']) {
      stages = [[[sleeper('a', recipe)]]];
      expect((await carryOut(recipe)).outcome).to.equal('up');
    }
  });

  it('tries a part that keeps ending at once when everything is asked for again, and says why it is not up', async () => {
    const broken: ProcessPart = { ...sleeper('a'), start: () => Promise.reject(new Error('no disk')) };
    supervise([[[broken]]]);
    for (const id of ['p2', 'p3', 'p4', 'p5']) {
      const { outcome: came, steps } = await carryOut(id);
      expect([came, steps[0]?.detail]).to.deep.equal(['failed', 'no disk']);
    }
  });

  it('reports the failed part with reason and remedy, and retries it', async () => {
    let broken = true;
    const shy: ProcessPart = {
      ...sleeper('a'),
      start: async env => {
        if (broken) throw new Error('no luck');
        return sleeper('a').start(env);
      },
    };
    supervise([[[shy, sleeper('b')]]]);
    await until('the start to fail', () => outcome() === 'failed');

    const [first, second] = home.progress.read()!.steps;
    expect(first).to.include({ name: 'a', state: 'failed', detail: 'no luck', remedy: 'none' });
    expect(second).to.include({ name: 'b', state: 'waiting' });
    broken = false;
    await up();
  });

  it('maintains what runs once a day, and again soon when that fails', async () => {
    const days: number[] = [];
    let isBroken = false;
    const maintained: ProcessPart = {
      ...sleeper('a'),
      maintain: ({ clock }) => {
        days.push(Math.floor((clock.now() - start) / 86_400_000));
        if (isBroken) throw new Error('no luck');
      },
    };
    const passes = async (count = 3) => {
      const before = looks;
      await until('the supervisor to look', () => looks >= before + count);
    };
    let looks = 0;
    const start = systemClock.now();
    const counted = { ...maintained, recipe: () => (looks++, 'r') };
    supervise([[[counted]]]);
    await until('a to be maintained', () => days.length === 1);
    skippedMs = 23 * 3_600_000;
    await passes();
    expect(days, 'before a day is over').to.have.length(1);
    isBroken = true;
    skippedMs = 25 * 3_600_000;
    await until('a to be maintained again', () => days.length === 2);
    await passes();
    expect(days, 'right after a failure').to.have.length(2);
    skippedMs += 601_000;
    await until('the failure to be repeated', () => days.length === 3);
    expect(outcome(), 'what runs goes on').to.equal('up');
  });

  it('renews the certificates of the server and of etcd when half of their life is over', () => {
    const parts = [serverPart, etcdPart];
    const read = () =>
      ['server/server.pem', 'etcd/etcd.pem', 'etcd/mooring.pem'].map(
        name => new X509Certificate(readFileSync(home.path('certificates', ...name.split('/')))),
      );
    const maintainAfter = (ms: number) => {
      const clock = { ...systemClock, now: () => systemClock.now() + ms };
      for (const part of parts) part.maintain?.({ home, clock });
      return read();
    };
    supervise([]);
    const [first, later, renewed] = [0, 180, 185].map(days => maintainAfter(days * 86_400_000));
    const toSerials = (all: readonly X509Certificate[] = []) => all.map(({ serialNumber }) => serialNumber);
    const toKeys = (all: readonly X509Certificate[] = []) =>
      all.map(({ publicKey }) => publicKey.export({ type: 'spki', format: 'pem' }));
    expect(toSerials(later)).to.deep.equal(toSerials(first));
    for (const [index, serial] of toSerials(renewed).entries()) expect(serial).to.not.equal(toSerials(first)[index]);
    expect(toKeys(renewed)).to.deep.equal(toKeys(first));
  });

  it('never ends a process that only has the same id', async () => {
    supervise([[[sleeper('a')]]]);
    await up();
    const { process: identity } = home.records.read('a')!;

    await terminateProcess({ ...identity, started: '1' }, { clock: systemClock, graceMs: 10 });

    expect(isAlive(identity)).to.equal(true);
  });
});
