import { expect } from 'chai';
import fc from 'fast-check';

import { seededRandom, sleep } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { again, done, type ReconcileResult } from './loop.js';
import { WorkQueue, type Work, type WorkQueueOptions } from './work-queue.js';

const setUp = (work: Work, options: Partial<WorkQueueOptions> = {}) => {
  const clock = new ManualClock();
  const queue = new WorkQueue(work, { clock, random: seededRandom(1), ...options });
  return { clock, queue };
};

describe('work queue', () => {
  it('works once on a key that is added several times while it waits', async () => {
    const worked: string[] = [];
    const { clock, queue } = setUp(async key => {
      worked.push(key);
      await sleep(clock, 10);
      return done;
    });

    queue.add('busy');
    for (let n = 0; n < 5; n++) queue.add('waits');
    await clock.pass(100);

    expect(worked).to.deep.equal(['busy', 'waits']);
  });

  it('works again on a key that is added while it is worked on', async () => {
    let runs = 0;
    const { clock, queue } = setUp(async () => {
      runs++;
      await sleep(clock, 10);
      return done;
    });

    queue.add('k');
    await clock.pass(5);
    queue.add('k');
    queue.add('k');
    await clock.pass(100);

    expect(runs).to.equal(2);
  });

  it('keeps the earliest of several delays of a key, and drops them when the key is added at once', async () => {
    const starts: number[] = [];
    const { clock, queue } = setUp(async () => {
      starts.push(clock.monotonic());
      return done;
    });

    queue.addAfter('k', 500);
    queue.addAfter('k', 100);
    queue.addAfter('k', 900);
    await clock.pass(50);
    expect(queue.delayed).to.equal(1);
    await clock.pass(1000);
    queue.addAfter('k', 500);
    queue.add('k');
    await clock.pass(1000);

    expect(starts).to.deep.equal([100, 1050]);
  });

  it('works again on a key after the requested delay', async () => {
    const starts: number[] = [];
    const { clock, queue } = setUp(async () => {
      starts.push(clock.monotonic());
      return starts.length < 3 ? again(250, 'a test') : done;
    });

    queue.add('k');
    await clock.pass(5000);

    expect(starts).to.deep.equal([0, 250, 500]);
  });

  it('waits longer after each failure, up to the cap, and forgets failures after a success', async () => {
    let failing = true;
    const starts: number[] = [];
    const { clock, queue } = setUp(
      async () => {
        starts.push(clock.monotonic());
        if (failing) throw new Error('not yet');
        return done;
      },
      { backoff: { firstMs: 100, capMs: 1000 } },
    );

    queue.add('k');
    await clock.pass(6000);
    const waits = starts.slice(1).map((start, i) => start - starts[i]!);
    expect(waits[0]).to.be.within(75, 125);
    expect(waits[2]).to.be.within(300, 500);
    expect(Math.max(...waits)).to.be.at.most(1000);
    expect(waits.at(-1)).to.be.at.least(750);

    failing = false;
    await clock.pass(1000);
    expect(queue.failures('k')).to.equal(0);
  });

  it('works on a permanently failing key at most twice a minute at the default backoff', async () => {
    const starts: number[] = [];
    const { clock, queue } = setUp(async () => {
      starts.push(clock.monotonic());
      throw new Error('never');
    });

    queue.add('k');
    await clock.pass(3_600_000);

    expect(starts.filter(start => start > 600_000 && start <= 660_000).length).to.be.at.most(2);
  });

  it('works on an added key without waiting for its backoff', async () => {
    const starts: number[] = [];
    const { clock, queue } = setUp(
      async () => {
        starts.push(clock.monotonic());
        throw new Error('never');
      },
      { backoff: { firstMs: 10_000, capMs: 10_000 } },
    );

    queue.add('k');
    await clock.pass(100);
    queue.add('k');
    await clock.pass(100);

    expect(starts).to.deep.equal([0, 100]);
  });

  it('gives the place of a key that runs aside to another, and takes it back', async () => {
    const worked: string[] = [];
    const { clock, queue } = setUp(async key => {
      worked.push(key);
      if (key.startsWith('aside')) await queue.runAside(() => sleep(clock, 1_000));
      await sleep(clock, 100);
      return done;
    });

    for (const key of ['aside1', 'aside2', 'a', 'b']) queue.add(key);
    await clock.pass(50);
    expect(worked).to.deep.equal(['aside1', 'aside2', 'a']);
    await clock.pass(100);
    expect(worked).to.deep.equal(['aside1', 'aside2', 'a', 'b']);
    await clock.pass(2_000);
    for (const key of ['c', 'd']) queue.add(key);
    await clock.pass(50);
    expect(worked.slice(4)).to.deep.equal(['c']);
  });

  it('reports its depth and how long keys waited', async () => {
    const depths: number[] = [];
    const waits: number[] = [];
    const { clock, queue } = setUp(
      async () => {
        await sleep(clock, 30);
        return done;
      },
      { onDepth: keys => depths.push(keys), onStart: (_key, ms) => waits.push(ms) },
    );

    queue.add('a');
    queue.add('b');
    await clock.pass(100);

    expect(depths).to.deep.equal([1, 0, 1, 0]);
    expect(waits).to.deep.equal([0, 30]);
  });

  it('waits on stop for running work, aborts it after the grace period, and takes no more keys', async () => {
    const gaveUp: number[] = [];
    const { clock, queue } = setUp(async (_key, signal) => {
      await sleep(clock, 60_000, signal);
      gaveUp.push(clock.monotonic());
      return again(1, 'a test');
    });

    queue.add('k');
    queue.add('never');
    await clock.pass(10);
    let stopped = false;
    const stopping = queue.stop(5000).then(() => void (stopped = true));
    queue.add('late');
    await clock.pass(4000);
    expect(stopped).to.equal(false);
    await clock.pass(2000);
    await stopping;
    await clock.pass(120_000);

    expect(gaveUp).to.deep.equal([5010]);
    expect(queue.depth + queue.delayed).to.equal(0);
  });

  it('property: never has two workers on a key or more than allowed, and runs again after every change', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const step = fc.record({
      key: fc.constantFrom(...names),
      delay: fc.constantFrom(0, 0, 0, 20),
      pause: fc.constantFrom(0, 1, 5, 15),
      outcome: fc.constantFrom('done', 'done', 'throw', 'again'),
    });

    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer(), async (steps, seed) => {
        const clock = new ManualClock();
        const wanted = new Map<string, number>();
        const seen = new Map<string, number>();
        const outcomes = steps.map(({ outcome }) => outcome);
        const running = new Set<string>();
        let runs = 0;
        const work: Work = async (key): Promise<ReconcileResult> => {
          expect(running.has(key), 'two workers on one key').to.equal(false);
          running.add(key);
          expect(running.size).to.be.at.most(2);
          const level = wanted.get(key) ?? 0;
          await sleep(clock, 7);
          running.delete(key);
          const outcome = outcomes[runs++] ?? 'done';
          if (outcome === 'throw') throw new Error('a test');
          seen.set(key, level);
          return outcome === 'again' ? again(3, 'a test') : done;
        };
        const queue = new WorkQueue(work, { clock, random: seededRandom(seed), concurrency: 2 });

        for (const { key, delay, pause } of steps) {
          wanted.set(key, (wanted.get(key) ?? 0) + 1);
          queue.addAfter(key, delay);
          await clock.pass(pause);
        }
        await clock.pass(600_000);

        for (const [key, level] of wanted) expect(seen.get(key), `a change of ${key} was lost`).to.equal(level);
        expect(queue.depth + queue.delayed).to.equal(0);
      }),
      { numRuns: 150 },
    );
  });
});
