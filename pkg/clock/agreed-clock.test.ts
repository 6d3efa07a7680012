import { expect } from 'chai';

import { AgreedClock, chooseBias, type ClockReading, type ClockVote } from './agreed-clock.js';
import type { Clock } from './index.js';
import { ManualClock, withWallClock } from './manual-clock.testing.js';

const DAY_MS = 86_400_000;

describe('the time that clocks agree on', () => {
  const vote = (machine: string, bias: number): ClockVote => ({ machine, bias });
  const cases: readonly (readonly [name: string, votes: readonly ClockVote[], held: number | undefined, is: number])[] =
    [
      ['is that of one which is alone', [vote('a', 7)], undefined, 7],
      ['follows one which is alone', [vote('a', DAY_MS)], 0, DAY_MS],
      ['stays when one of two jumps ahead', [vote('a', 0), vote('b', DAY_MS)], 0, 0],
      ['stays when one of two jumps back', [vote('a', 0), vote('b', -DAY_MS)], 0, 0],
      ['stays between two that have jumped apart', [vote('a', DAY_MS), vote('b', -DAY_MS)], 0, 0],
      ['follows both of two, as far as is needed', [vote('a', DAY_MS + 500), vote('b', DAY_MS)], 0, DAY_MS],
      ['is that of most of three', [vote('a', 0), vote('b', DAY_MS), vote('c', 40)], DAY_MS, 40],
      ['stays when two of four jump', [vote('a', 0), vote('b', 9), vote('c', DAY_MS), vote('d', DAY_MS)], 5, 5],
      ['gives a machine one vote', [vote('a', 0), vote('b', DAY_MS), vote('b', DAY_MS)], 0, 0],
      [
        'gives a machine one vote, however many run there',
        [vote('a', 0), vote('c', 1), vote('b', DAY_MS), vote('b', DAY_MS), vote('b', DAY_MS)],
        DAY_MS,
        1,
      ],
      ['is the median where all run on one machine', [vote('a', 0), vote('a', 3), vote('a', DAY_MS)], undefined, 3],
      ['does not move for little', [vote('a', 1_900), vote('b', 1_800)], 0, 0],
    ];
  for (const [name, votes, held, is] of cases) it(name, () => expect(chooseBias(votes, held)).to.equal(is));
});

describe('a process whose clock', () => {
  /** Beside another one that reads its clock every five seconds and is right. It began when both were right. */
  const watch = async (show: (clock: Clock, begun: number) => number) => {
    const clock = new ManualClock();
    const begun = clock.now();
    let isWrong = false;
    const agreed = new AgreedClock(
      withWallClock(clock, () => (isWrong ? show(clock, begun) : clock.now())),
      'a',
    );
    const peer = withWallClock(clock, () => clock.now());
    const errors: number[] = [];
    for (let second = 0; second < 300; second++) {
      if (second % 5 === 0) agreed.addReading('peer', 'b', new AgreedClock(peer, 'b').read(), true);
      isWrong ||= second === 10;
      errors.push(agreed.now() - clock.now());
      await clock.pass(1_000);
    }
    return { worst: Math.max(...errors.map(Math.abs)), last: errors.at(-1) };
  };
  const wrong: Readonly<Record<string, (clock: Clock, begun: number) => number>> = {
    'jumps a day ahead': clock => clock.now() + DAY_MS,
    'jumps a day back': clock => clock.now() - DAY_MS,
    'stands still': (_clock, begun) => begun,
    'jumps to and fro': clock => clock.now() + (clock.now() % 20_000 < 10_000 ? DAY_MS : 0),
    'runs a tenth too fast': (clock, begun) => clock.now() + (clock.now() - begun) / 10,
  };
  for (const [name, show] of Object.entries(wrong)) {
    it(`${name} goes on with the time of the others`, async () => {
      const { worst, last } = await watch(show);
      expect(worst).to.be.at.most(10_000); // what had passed before it was wrong
      expect(last).to.be.within(-2_000, 2_000);
    });
  }
});

describe('AgreedClock', () => {
  const clock = new ManualClock();
  const read = (offMs = 0): ClockReading => {
    const now = clock.now();
    return { wall: now + offMs, monotonic: clock.monotonic() + 77_000, agreed: now };
  };

  it('never runs backwards for little, and follows its own clock when it is alone', async () => {
    let offMs = 1_500;
    const own = withWallClock(clock, () => clock.now() + offMs);
    const agreed = new AgreedClock(own, 'a');
    const before = agreed.now();
    offMs = 0;
    expect(agreed.now()).to.equal(before);
    await clock.pass(2_000);
    expect(agreed.now()).to.equal(clock.now());
    for (const jump of [DAY_MS, -DAY_MS]) {
      offMs = jump;
      expect(agreed.now()).to.equal(clock.now() + jump);
    }
    expect([agreed.read().wall, agreed.monotonic()]).to.deep.equal([own.now(), clock.monotonic()]);
  });

  it('shows whole milliseconds, although monotonic clocks have fractions', () => {
    for (const offMs of [0, DAY_MS]) {
      const own = { ...withWallClock(clock, () => clock.now() + offMs), monotonic: () => clock.monotonic() + 1 / 3 };
      const agreed = new AgreedClock(own, 'a');
      agreed.adopt([read()]);
      expect(agreed.now()).to.equal(clock.now());
    }
  });

  it('takes over the time of those that run already, from readings of any age', async () => {
    const agreed = new AgreedClock(clock, 'a');
    const off = new AgreedClock(
      withWallClock(clock, () => clock.now() + DAY_MS),
      'b',
    );
    const readings = [read()];
    await clock.pass(100_000);
    for (const each of [agreed, off]) each.adopt(readings);
    expect(agreed.now(), 'a clock that may be right stays').to.equal(clock.now());
    expect(off.now()).to.equal(clock.now() - 100_000);
    off.addReading('peer', 'a', readings[0]!, false);
    expect(off.now(), 'no vote without a reading that is fresh').to.equal(clock.now() - 100_000);
    off.addReading('peer', 'a', read(), true);
    expect(off.now()).to.equal(clock.now());
  });

  it('is not moved by a reading that comes late', async () => {
    const agreed = new AgreedClock(clock, 'a');
    for (const peer of ['b', 'c']) agreed.addReading(peer, peer, read(), true);
    await clock.pass(10_000);
    const late = read();
    await clock.pass(60_000);
    for (const peer of ['b', 'c']) agreed.addReading(peer, peer, late, true);
    expect(agreed.now()).to.equal(clock.now());
  });

  it('keeps for ten minutes the time of others that are gone', async () => {
    let offMs = 0;
    const agreed = new AgreedClock(
      withWallClock(clock, () => clock.now() + offMs),
      'a',
    );
    agreed.addReading('peer', 'b', read(), true);
    offMs = DAY_MS;
    expect(agreed.now()).to.equal(clock.now());
    agreed.forget('peer');
    await clock.pass(590_000);
    expect(agreed.now()).to.equal(clock.now());
    await clock.pass(20_000);
    expect(agreed.now()).to.equal(clock.now() + DAY_MS);
  });
});
