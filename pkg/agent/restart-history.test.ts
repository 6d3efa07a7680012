import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { memoryDisk } from './disk.js';
import { RestartHistory } from './restart-history.js';

describe('RestartHistory', () => {
  const clock = new ManualClock();

  /** Ends and restarts a container that runs for `ranMs` each time, and answers the rests it had to take. */
  const rests = async (history: RestartHistory, ranMs: number, times: number): Promise<number[]> => {
    const taken: number[] = [];
    for (let turn = 0; turn < times; turn++) {
      history.observe('a', { state: 'running' });
      await clock.pass(ranMs);
      history.observe('a', { state: 'exited' });
      taken.push(history.backoffMs('a'));
      await clock.pass(history.backoffMs('a'));
      await history.countRestart('a');
    }
    return taken;
  };

  it('has no back-off at first, then doubles it up to a minute', async () => {
    const history = await RestartHistory.load(clock, memoryDisk());

    expect(await rests(history, 10, 9)).to.deep.equal([0, 1, 2, 4, 8, 16, 32, 60, 60].map(seconds => seconds * 1000));
    expect(history.isCrashLooping('a')).to.equal(true);
  });

  it('has no back-off for a container that ran for a minute', async () => {
    const history = await RestartHistory.load(clock, memoryDisk());

    expect(await rests(history, 61_000, 4)).to.deep.equal([0, 0, 0, 0]);
    expect(history.isCrashLooping('a')).to.equal(false);
    expect(history.restarts('a')).to.equal(4);
  });

  it('survives a restart of the agent, and is deleted with the replica', async () => {
    const disk = memoryDisk();
    const history = await RestartHistory.load(clock, disk);
    await rests(history, 10, 3);
    const later = await RestartHistory.load(clock, disk);
    expect(later.restarts('a')).to.equal(3);

    await later.forget('a');
    expect((await RestartHistory.load(clock, disk)).restarts('a')).to.equal(0);
  });

  it('writes counts in the order in which they came about', async () => {
    const written: string[] = [];
    let first = true;
    const disk = {
      read: () => Promise.resolve(undefined),
      async write(_: string, text: string) {
        if (first) {
          first = false;
          await new Promise(resolve => setImmediate(resolve));
        }
        written.push(text);
      },
    };
    const history = await RestartHistory.load(clock, disk);
    await Promise.all([history.countRestart('a'), history.countRestart('a')]);

    expect(JSON.parse(written.at(-1)!)).to.deep.include({ a: { restarts: 2, quick: 2 } });
    expect(written).to.have.length(2);
  });
});
