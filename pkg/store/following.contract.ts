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
      const watch = RecordingWatch.follow(store());
      await watch.synced();
      expect(watch.keys().has('follow/before')).to.equal(true);

      await create(store(), 'follow/a', { n: 1 });
      await update(store(), 'follow/a', () => ({ n: 2 }));
      await remove(store(), (await store().get('follow/before'))!);
      await watch.until(() => !watch.keys().has('follow/before'));

      expect(watch.resets).to.equal(1);
      const seen = watch.events.filter(({ key }) => key.startsWith('follow/'));
      expect(seen.map(({ key, entry }) => [key, entry && value(entry)])).to.deep.equal([
        ['follow/a', { n: 1 }],
        ['follow/a', { n: 2 }],
        ['follow/before', undefined],
      ]);
      await watch.stop();
    });

    it('lists nothing below what is left out, and tells what happens there', async () => {
      for (const key of ['out-a/1', 'out-b/1', 'out-b0', 'out-c/1']) await create(store(), key, {});
      const watch = RecordingWatch.follow(store(), { leavesOut: ['out-b/', 'out-a/'] });
      await watch.synced();
      const listed = [...watch.keys().keys()].filter(key => key.startsWith('out-'));
      await create(store(), 'out-b/2', {});
      await watch.until(() => watch.events.some(({ key }) => key === 'out-b/2'));

      expect(listed).to.have.members(['out-b0', 'out-c/1']);
      await watch.stop();
    });

    it('never splits a revision, and numbers what happened in it', async () => {
      const watch = RecordingWatch.follow(store());
      await watch.synced();
      const keys = Array.from({ length: 30 }, (_, n) => `whole/${String(n).padStart(2, '0')}`);
      const change = createChange(keys[0]!, {});
      await store().commit({ ...change, puts: keys.map(key => ({ key, bytes: encode({ key }) })) });
      await watch.until(() => watch.keys().has(keys.at(-1)!));

      const seen = watch.revisions.find(([first]) => first!.key === keys[0])!;
      expect(seen.map(({ key }) => key)).to.deep.equal(keys);
      expect(seen.map(({ position }) => position)).to.deep.equal([...keys.keys()]);
      await watch.stop();
    });

    it('begins in the past when asked, and in the present when that is gone', async () => {
      const before = await store().revision();
      await create(store(), 'history/a', {});
      await create(store(), 'history/b', {});
      const watch = RecordingWatch.follow(store(), { history: (await store().revision()) - before });
      await watch.until(() => watch.keys().has('history/b'));
      expect(watch.firstRevision).to.equal(before);
      expect(watch.events.map(({ key }) => key)).to.deep.equal(['history/a', 'history/b']);
      await watch.stop();

      await subject().compact(await store().revision());
      const late = RecordingWatch.follow(store(), { history: (await store().revision()) - before });
      await late.synced();
      expect(late.firstRevision).to.be.greaterThan(before);
      expect(late.keys().has('history/b')).to.equal(true);
      await late.stop();
    });

    it('stops when told to while it tells the first state', async () => {
      const stop = new AbortController();
      const watch: WatchHandler = {
        onReset: () => stop.abort(),
        onEvents: () => undefined,
        onConnected: () => undefined,
      };
      const following = store().follow(watch, {}, stop.signal);
      const waited = Promise.race([following.then(() => 'stopped'), sleep(2_000).then(() => 'still following')]);
      expect(await waited).to.equal('stopped');
    });

    it('stops when told to, and tells nothing more', async () => {
      const watch = RecordingWatch.follow(store());
      await watch.synced();
      await watch.stop();
      const seen = watch.events.length;
      await create(store(), 'stopped/a', {});
      await subject().pass(50);
      expect(watch.events.length).to.equal(seen);
      expect(watch.up).to.equal(false);
    });
  });
}
