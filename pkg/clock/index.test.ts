import { expect } from 'chai';
import { type SinonFakeTimers, useFakeTimers } from 'sinon';

import { backoffMs, seededRandom, sleep, systemClock } from './index.js';

describe('sleep', () => {
  it('ends at once when the signal is already aborted', async () => {
    const clock = { ...systemClock, after: () => expect.fail('a timer was set') };
    await sleep(clock, 10_000, AbortSignal.abort());
  });

  it('ends when the signal is aborted, without throwing', async () => {
    const abort = new AbortController();
    const sleeping = sleep(systemClock, 10_000, abort.signal);
    abort.abort();
    await sleeping;
  });

  it('ends when its timer fires', async () => {
    const fired: (() => void)[] = [];
    const clock = { ...systemClock, after: (_ms: number, fire: () => void) => (fired.push(fire), () => undefined) };
    const sleeping = sleep(clock, 5);
    fired[0]?.();
    await sleeping;
  });
});

describe('systemClock', () => {
  let timers: SinonFakeTimers;
  beforeEach(() => {
    timers = useFakeTimers();
  });
  afterEach(() => timers.restore());

  it('waits for longer than a timer of Node can', () => {
    const days = 60 * 86_400_000;
    let fired = 0;
    systemClock.after(days, () => fired++);
    const cancel = systemClock.after(days, () => expect.fail('it was cancelled'));
    timers.tick(days - 1);
    expect(fired).to.equal(0);
    cancel();
    timers.tick(1);
    expect(fired).to.equal(1);
  });
});

describe('seededRandom', () => {
  it('repeats itself for the same seed', () => {
    const [a, b] = [seededRandom(7), seededRandom(7)];
    expect([a.next(), a.uuid(), a.bytes(4).toString('hex')]).to.deep.equal([
      b.next(),
      b.uuid(),
      b.bytes(4).toString('hex'),
    ]);
  });

  it('differs from seed to seed and stays within [0, 1)', () => {
    const draws = Array.from({ length: 1_000 }, (_, seed) => seededRandom(seed).next());
    expect(new Set(draws).size).to.be.above(990);
    expect(draws.every(draw => draw >= 0 && draw < 1)).to.equal(true);
  });

  it('makes UUIDs of version 4', () => {
    expect(seededRandom(1).uuid()).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

describe('backoffMs', () => {
  const options = { firstMs: 100, capMs: 1_000 };

  it('doubles from the first wait up to the cap', () => {
    expect([1, 2, 3, 4, 5, 1_000].map(failures => backoffMs(failures, options))).to.deep.equal([
      100, 200, 400, 800, 1_000, 1_000,
    ]);
  });

  it('is spread by a quarter either way, and never beyond the cap', () => {
    const random = seededRandom(1);
    for (let failures = 1; failures < 500; failures++) {
      const plain = backoffMs(failures, options);
      expect(backoffMs(failures, options, random)).to.be.within(plain * 0.75, Math.min(plain * 1.25, 1_000));
    }
  });
});
