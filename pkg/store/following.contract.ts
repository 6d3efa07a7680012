import { setTimeout as sleep } from 'node:timers/promises';

import { expect } from 'chai';

import { create, encode, remove, update, value } from './documents.js';
import type { WatchHandler } from './store.js';
import { createChange, RecordingWatch, type StoreUnderTest } from './store.testing.js';

/** What every store promises to those who follow it. */
export function followingContract(name: string, subject: () => StoreUnderTest): void {
  const store = () => subject().store;

  describe(`${name}: following`, () => {
    it('tells the present state, then everything that happens, in order', async () => {
      await create(store(), 'follow/before', { n: 1 });
      const feed = RecordingWatch.follow(store());
      await feed.synced();
      expect(feed.keys().has('follow/before')).to.equal(true);

      await create(store(), 'follow/a', { n: 1 });
      await update(store(), 'follow/a', () => ({ n: 2 }));
      await remove(store(), (await store().get('follow/before'))!);
      await feed.until(() => !feed.keys().has('follow/before'));

      expect(feed.resets).to.equal(1);
      const told = feed.events.filter(({ key }) => key.startsWith('follow/'));
      expect(told.map(({ key, entry }) => [key, entry && value(entry)])).to.deep.equal([
        ['follow/a', { n: 1 }],
        ['follow/a', { n: 2 }],
        ['follow/before', undefined],
      ]);
      await feed.stop();
    });

    it('never splits a revision, and numbers what happened in it', async () => {
      const feed = RecordingWatch.follow(store());
      await feed.synced();
      const keys = Array.from({ length: 30 }, (_, n) => `whole/${String(n).padStart(2, '0')}`);
      const change = createChange(keys[0]!, {});
      await store().commit({ ...change, puts: keys.map(key => ({ key, bytes: encode({ key }) })) });
      await feed.until(() => feed.keys().has(keys.at(-1)!));

      const told = feed.revisions.find(([first]) => first!.key === keys[0])!;
      expect(told.map(({ key }) => key)).to.deep.equal(keys);
      expect(told.map(({ position }) => position)).to.deep.equal([...keys.keys()]);
      await feed.stop();
    });

    it('begins in the past when asked, and in the present when that is gone', async () => {
      const before = await store().revision();
      await create(store(), 'history/a', {});
      await create(store(), 'history/b', {});
      const feed = RecordingWatch.follow(store(), { history: (await store().revision()) - before });
      await feed.until(() => feed.keys().has('history/b'));
      expect(feed.firstRevision).to.equal(before);
      expect(feed.events.map(({ key }) => key)).to.deep.equal(['history/a', 'history/b']);
      await feed.stop();

      await subject().compact(await store().revision());
      const late = RecordingWatch.follow(store(), { history: (await store().revision()) - before });
      await late.synced();
      expect(late.firstRevision).to.be.greaterThan(before);
      expect(late.keys().has('history/b')).to.equal(true);
      await late.stop();
    });

    it('stops when told to while it tells the first state', async () => {
      const stop = new AbortController();
      const feed: WatchHandler = {
        onReset: () => stop.abort(),
        onEvents: () => undefined,
        onConnected: () => undefined,
      };
      const following = store().follow(feed, {}, stop.signal);
      const waited = Promise.race([following.then(() => 'stopped'), sleep(2_000).then(() => 'still following')]);
      expect(await waited).to.equal('stopped');
    });

    it('stops when told to, and tells nothing more', async () => {
      const feed = RecordingWatch.follow(store());
      await feed.synced();
      await feed.stop();
      const told = feed.events.length;
      await create(store(), 'stopped/a', {});
      await subject().pass(50);
      expect(feed.events.length).to.equal(told);
      expect(feed.up).to.equal(false);
    });
  });
}
