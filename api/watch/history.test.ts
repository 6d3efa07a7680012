import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import { createMetrics } from '../../pkg/metrics/index.js';
import { encode, MemoryStore, WatchCache } from '../../pkg/store/index.js';
import { createCursorAfter } from './frame.js';
import { WatchHistory } from './history.js';
import type { LineWriter } from './lines.js';
import { WatchHub } from './watch-hub.js';

const TENANT = 't1';
const MEGABYTE = 2 ** 20;

describe('watches of one topic', () => {
  it('go on when a line of one of them cannot be made', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    const cache = new WatchCache({ store, clock, log: silentLogger });
    const metrics = createMetrics({ processMetrics: false });
    const resources = [{ range: 'deployments/', view: () => Buffer.alloc(0) }];
    const hub = new WatchHub({ cache, clock, log: silentLogger, metrics, resources, capacity: 10 });
    void cache.run(new AbortController().signal);
    await cache.ready;
    const texts: string[][] = [];
    const open = (changed: LineWriter['changed']) => {
      const own: string[] = [];
      texts.push(own);
      const take = (bytes: Buffer) => own.push(String(bytes)) > 0;
      const out = Object.assign(new EventEmitter(), { write: take, end: take }) as unknown as ServerResponse;
      const none = () => undefined;
      const lines = { listed: none, opened: none, idle: none, changed, gone: () => Buffer.from('gone') };
      const topic = `deployments/${TENANT}/`;
      hub.open({ out, topic, lines, from: hub.history.next, initialList: undefined }, none);
    };
    open(() => {
      throw new TypeError('a damaged record');
    });
    open(({ name }) => Buffer.from(name));
    for (const name of ['web', 'db']) {
      const key = keys.deployment(TENANT, name);
      await store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode({}) }], deletes: [] });
      await cache.barrier();
    }
    hub.close();
    expect(texts).to.deep.equal([['gone'], ['web', 'db', 'undefined']]);
  });
});

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
