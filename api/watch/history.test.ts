import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import { encode, MemoryStore, WatchCache } from '../../pkg/store/index.js';
import { createCursorAfter } from './frame.js';
import { WatchHistory } from './history.js';

const TENANT = 't1';
const MEGABYTE = 2 ** 20;

describe('history of watches', () => {
  const setUp = async (capacity: number) => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    const cache = new WatchCache({ store, clock, log: silentLogger });
    const resource = { range: 'deployments/', view: () => Buffer.alloc(0) };
    const listener = { onFrames: () => undefined, onReset: () => undefined };
    const history = new WatchHistory(cache, [resource], capacity, listener);
    void cache.run(new AbortController().signal);
    await cache.ready;
    const write = async (text: string) => {
      const key = keys.deployment(TENANT, 'web');
      const at = (await store.get(key))?.revision ?? 0;
      await store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode({ text }) }], deletes: [] });
      await cache.barrier();
    };
    return { history, write };
  };

  it('keeps so many changes and no more', async () => {
    const { history, write } = await setUp(10);
    for (let round = 0; round < 35; round++) await write(String(round));

    const { next } = history;
    expect(history.size).to.equal(10);
    expect(history.at(next - 11)).to.equal(undefined);
    expect(history.at(next - 10)?.name).to.equal('web');
    expect(history.numberAfter(history.at(next - 5)!)).to.equal(next - 4);
    expect(history.numberAfter(createCursorAfter(1))).to.equal(undefined);
  });

  it('keeps fewer changes of large objects, and resumes after each that it keeps', async () => {
    const { history, write } = await setUp(1_000);
    for (let round = 0; round < 60; round++) await write('x'.repeat(MEGABYTE));

    expect(history.size).to.be.within(5, 10);
    expect(history.bytes).to.be.at.most(16 * MEGABYTE);
    const first = history.next - history.size;
    expect(history.at(first - 1)).to.equal(undefined);
    for (let number = first; number < history.next; number++) {
      expect(history.numberAfter(history.at(number)!)).to.equal(number + 1);
    }
  });
});
