import { expect } from 'chai';

import { ManualClock } from '../../clock/manual-clock.testing.js';
import { createMemoryDisk } from '../disk.js';
import { StartHistory } from './start-history.js';

describe('StartHistory', () => {
  const clock = new ManualClock();
  const slot = { deploymentUid: 'dep_1', slot: 0, templateHash: 'h' };

  /** Ends and restarts a container that runs for `ranMs` each time, and answers the rests it had to take. */
  const rests = async (history: StartHistory, ranMs: number, times: number): Promise<number[]> => {
    const taken: number[] = [];
    for (let turn = 0; turn < times; turn++) {
      history.observe('a', slot, { state: 'running', health: 'none' });
      await clock.pass(ranMs);
      history.observe('a', slot, { state: 'exited', health: 'none' });
      taken.push(history.backoffMs(slot));
      await clock.pass(history.backoffMs(slot));
      await history.countRestart('a', slot);
    }
    return taken;
  };

  it('has no back-off at first, then doubles it up to a minute', async () => {
    const history = await StartHistory.load(clock, createMemoryDisk());

    expect(await rests(history, 10, 9)).to.deep.equal([0, 1, 2, 4, 8, 16, 32, 60, 60].map(seconds => seconds * 1000));
    expect(history.isCrashLooping(slot)).to.equal(true);
  });

  it('has no back-off for a container that ran for a minute', async () => {
    const history = await StartHistory.load(clock, createMemoryDisk());

    expect(await rests(history, 61_000, 4)).to.deep.equal([0, 0, 0, 0]);
    expect(history.isCrashLooping(slot)).to.equal(false);
    expect(history.restarts('a')).to.equal(4);
  });

  it('keeps the back-off of a container that ended long before the agent looked', async () => {
    const history = await StartHistory.load(clock, createMemoryDisk());
    await rests(history, 10, 8);
    for (let turn = 0; turn < 3; turn++) {
      history.observe('a', slot, { state: 'running', health: 'none' });
      const endedAt = new Date(clock.now() + 1_000).toISOString();
      await clock.pass(90_000);
      history.observe('a', slot, { state: 'exited', health: 'none', endedAt });
      expect(history.backoffMs(slot), 'the whole back-off').to.equal(60_000);
      await clock.pass(60_000);
      await history.countRestart('a', slot);
    }
  });

  it('counts the back-off from an end that follows another without a running container between two looks', async () => {
    const history = await StartHistory.load(clock, createMemoryDisk());
    await rests(history, 10, 8);
    history.observe('a', slot, { state: 'exited', health: 'none', endedAt: new Date(clock.now()).toISOString() });
    await clock.pass(60_000);
    await history.countRestart('a', slot);
    await clock.pass(45_000);
    history.observe('a', slot, { state: 'exited', health: 'none', endedAt: new Date(clock.now()).toISOString() });
    expect(history.backoffMs(slot)).to.equal(60_000);
  });

  it('begins anew when its file is damaged', async () => {
    for (const damaged of ['', '{"restarts":{', 'null', '{"a":null}']) {
      const disk = createMemoryDisk(new Map([['restarts.json', damaged]]));
      expect((await StartHistory.load(clock, disk)).restarts('a'), damaged).to.equal(0);
    }
  });

  it('survives a restart of the agent, and is deleted with the replica', async () => {
    const disk = createMemoryDisk();
    const history = await StartHistory.load(clock, disk);
    await rests(history, 10, 3);
    const later = await StartHistory.load(clock, disk);
    expect(later.restarts('a')).to.equal(3);

    await later.forget('a', slot);
    expect((await StartHistory.load(clock, disk)).restarts('a')).to.equal(0);
  });

  it('reads the counts that earlier versions wrote', async () => {
    const disk = createMemoryDisk();
    await disk.write('restarts.json', JSON.stringify({ a: { restarts: 3, quick: 1 } }));
    expect((await StartHistory.load(clock, disk)).restarts('a')).to.equal(3);
  });

  it('keeps the back-off of a container that runs for a minute without being healthy', async () => {
    const history = await StartHistory.load(clock, createMemoryDisk());
    await history.countFailure(slot);
    for (const health of ['starting', 'unhealthy'] as const) {
      history.observe('a', slot, { state: 'running', health });
      await clock.pass(61_000);
    }
    history.observe('a', slot, { state: 'running', health: 'healthy' });
    expect(history.failures(slot)).to.equal(1);
    await clock.pass(61_000);
    history.observe('a', slot, { state: 'running', health: 'healthy' });
    expect(history.failures(slot)).to.equal(0);
  });

  it('keeps a bounded number of slots, and each for a bounded time', async () => {
    const history = await StartHistory.load(clock, createMemoryDisk());
    for (let at = 0; at < 2_100; at++) await history.countFailure({ ...slot, slot: at });
    expect([0, 99, 100, 2_099].map(at => history.failures({ ...slot, slot: at }))).to.deep.equal([0, 0, 1, 1]);
    await clock.pass(601_000);
    await history.countFailure(slot);
    expect(history.failures({ ...slot, slot: 2_099 })).to.equal(0);
  });
});
