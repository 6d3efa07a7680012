import { expect } from 'chai';
import fc from 'fast-check';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import { create, encode, remove, update, value } from './documents.js';
import { KeyTree } from './entries.js';
import { StoreUnavailableFault } from './faults.js';
import { MemoryStore } from './memory-store.js';
import { Entry } from './entry.js';
import type { Store, WatchHandler } from './store.js';
import { type CacheChange, WatchCache } from './watch-cache.js';

const entry = (key: string, revision: number, document: unknown = {}) => new Entry(key, encode(document), revision);

/** A store whose watch tells only what the test tells it. */
function silentStore(): { store: Store; feed: () => WatchHandler; probes: () => number; revision: { now: number } } {
  const memory = new MemoryStore({ clock: new ManualClock() });
  const revision = { now: 1 };
  let feed: WatchHandler | undefined;
  let probes = 0;
  const store: Store = {
    get: key => memory.get(key),
    list: prefix => memory.list(prefix),
    page: (prefix, options) => memory.page(prefix, options),
    commit: change => memory.commit(change),
    revision: async () => {
      probes++;
      return revision.now;
    },
    follow: async given => {
      feed = given;
    },
    grant: ttlSeconds => memory.grant(ttlSeconds),
    keepAlive: id => memory.keepAlive(id),
    revoke: id => memory.revoke(id),
    close: () => memory.close(),
  };
  return { store, feed: () => feed!, probes: () => probes, revision };
}

describe('watch cache with a filter', () => {
  it('keeps no filtered key from a list or a watch, and still reaches its revision', async () => {
    const { store, feed } = silentStore();
    const cache = new WatchCache({ store, clock: new ManualClock(), log: silentLogger, leavesOut: ['old/'] });
    void cache.run(new AbortController().signal);
    feed().onReset({ entries: [entry('old/a', 2), entry('new/a', 3)], revision: 3 });
    const happened = (key: string, revision: number) =>
      feed().onEvents([{ revision, position: 0, key, entry: entry(key, revision) }]);
    happened('new/b', 4);
    happened('old/b', 5);

    expect(cache.list('').map(({ key }) => key)).to.deep.equal(['new/a', 'new/b']);
    expect(cache.revision).to.equal(5);
    await cache.reached(5);
  });
});

describe('watch cache on a malformed key', () => {
  it('leaves it out of lists, indexes and changes, says so once, and reaches its revision', async () => {
    const { store, feed } = silentStore();
    const said: unknown[] = [];
    const log = { ...silentLogger, error: (_message: string, fields?: object) => said.push(fields) };
    const cache = new WatchCache({ store, clock: new ManualClock(), log, leavesOut: ['old/'], passesOn: ['events/'] });
    cache.defineIndex('all', 'volumes/', () => ['any']);
    const told: string[] = [];
    cache.subscribe(({ key }) => void told.push(key));
    void cache.run(new AbortController().signal);
    const listing = { entries: [entry('volumes/t1/NO NAME', 2), entry('volumes/t1/a', 3)], revision: 3 };
    feed().onReset(listing);
    const happened = (key: string, revision: number) =>
      feed().onEvents([{ revision, position: 0, key, entry: entry(key, revision) }]);
    happened('volumes/t1/a/b', 4);
    happened('events/t1/..', 5);
    happened('old/..', 6);
    feed().onReset({ ...listing, revision: 7 });

    expect(cache.list('').map(({ key }) => key)).to.deep.equal(['volumes/t1/a']);
    expect(cache.by('all', 'any').map(({ key }) => key)).to.deep.equal(['volumes/t1/a']);
    expect(told).to.deep.equal(['volumes/t1/a']);
    expect(cache.revision).to.equal(7);
    expect(said).to.deep.equal(['volumes/t1/NO NAME', 'volumes/t1/a/b', 'events/t1/..'].map(key => ({ key })));
  });
});

describe('watch cache on a replayed event', () => {
  it('does not restore a deleted key', async () => {
    const { store, feed } = silentStore();
    const cache = new WatchCache({ store, clock: new ManualClock(), log: silentLogger });
    void cache.run(new AbortController().signal);
    feed().onReset({ entries: [], revision: 3 });
    const told: number[] = [];
    cache.subscribe(({ revision }) => void told.push(revision));
    const created = { revision: 4, position: 0, key: 'a', entry: entry('a', 4) };
    const deleted = { revision: 5, position: 0, key: 'a', entry: undefined };
    for (const event of [created, deleted, created]) feed().onEvents([event]);

    expect(cache.get('a')).to.equal(undefined);
    expect(cache.revision).to.equal(5);
    expect(told).to.deep.equal([4, 5]);
  });
});

describe('watch cache', () => {
  let clock: ManualClock;
  let store: MemoryStore;
  let cache: WatchCache;
  let stop: AbortController;

  beforeEach(async () => {
    clock = new ManualClock();
    store = new MemoryStore({ clock, defer: setImmediate });
    cache = new WatchCache({ store, clock, log: silentLogger });
    stop = new AbortController();
    await create(store, 'things/t1/a', { node: 'n1' });
    void cache.run(stop.signal);
    await cache.ready;
  });
  afterEach(() => stop.abort());

  it('shows what was stored before the barrier was requested', async () => {
    await create(store, 'things/t1/b', {});
    expect(cache.get('things/t1/b')).to.equal(undefined);
    await cache.barrier();
    expect(cache.get('things/t1/b')).not.to.equal(undefined);
    expect(cache.revision).to.equal(await store.revision());
  });

  it('keeps the array of a list until something in it changes', async () => {
    const before = cache.list('things/t1/');
    await create(store, 'things/t2/a', {});
    await cache.barrier();
    expect(cache.list('things/t1/')).to.equal(before);
    expect(cache.snapshot('things/t1/').entries).to.equal(before);

    await create(store, 'things/t1/b', {});
    await cache.barrier();
    expect(cache.list('things/t1/').map(({ key }) => key)).to.deep.equal(['things/t1/a', 'things/t1/b']);
    expect(before.map(({ key }) => key)).to.deep.equal(['things/t1/a']);
  });

  it('files entries in indexes, and moves them when they change', async () => {
    cache.defineIndex('by-node', 'things/', one => [value<{ node?: string }>(one).node ?? 'none']);
    await create(store, 'things/t1/b', { node: 'n1' });
    await create(store, 'others/t1/b', { node: 'n1' });
    await cache.barrier();
    expect(cache.by('by-node', 'n1').map(({ key }) => key)).to.deep.equal(['things/t1/a', 'things/t1/b']);

    await update(store, 'things/t1/a', () => ({ node: 'n2' }));
    await remove(store, (await store.get('things/t1/b'))!);
    await cache.barrier();
    expect(cache.by('by-node', 'n1')).to.deep.equal([]);
    expect(cache.by('by-node', 'n2').map(({ key }) => key)).to.deep.equal(['things/t1/a']);
  });

  it('delivers every change with the previous value, then the end of the revision', async () => {
    const told: unknown[] = [];
    cache.subscribe(({ key, entry: now, previous }) =>
      told.push([key, now && value(now), previous && value(previous)]),
    );
    cache.onRevision(revision => told.push(revision));
    await update(store, 'things/t1/a', () => ({ node: 'n2' }));
    await remove(store, (await store.get('things/t1/a'))!);
    await cache.barrier();

    expect(told).to.deep.equal([
      ['things/t1/a', { node: 'n2' }, { node: 'n1' }],
      3,
      ['things/t1/a', undefined, { node: 'n2' }],
      4,
    ]);
  });

  it('continues when a listener or a derivation throws', async () => {
    cache.defineIndex('broken', 'things/', one => [value<{ deep: { er: string } }>(one).deep.er]);
    cache.subscribe(() => {
      throw new Error('a listener that fails');
    });
    const told: string[] = [];
    cache.subscribe(({ key }) => told.push(key));
    await create(store, 'things/t1/b', {});
    await cache.barrier();
    expect(told).to.deep.equal(['things/t1/b']);
  });

  it('delivers a reset as the changes that it amounts to', async () => {
    const silent = silentStore();
    const other = new WatchCache({ store: silent.store, clock, log: silentLogger });
    void other.run(stop.signal);
    const told: Pick<CacheChange, 'key' | 'revision' | 'position'>[] = [];
    const resets: number[] = [];
    other.onReset(revision => resets.push(revision));
    silent.feed().onReset({ entries: [entry('stays', 2), entry('changes', 3), entry('goes', 4)], revision: 5 });
    other.subscribe(({ key, revision, position }) => told.push({ key, revision, position }));
    silent.feed().onReset({ entries: [entry('changes', 8), entry('comes', 9), entry('stays', 2)], revision: 10 });

    expect(told).to.deep.equal([
      { key: 'goes', revision: 10, position: 0 },
      { key: 'changes', revision: 10, position: 1 },
      { key: 'comes', revision: 10, position: 2 },
    ]);
    expect(resets).to.deep.equal([5, 10]);
    expect(other.list('').map(({ key }) => key)).to.deep.equal(['changes', 'comes', 'stays']);
  });

  it('is connected once it shows what happened before the connection was made', async () => {
    const { store: behind, feed, revision } = silentStore();
    const other = new WatchCache({ store: behind, clock, log: silentLogger });
    void other.run(stop.signal);
    feed().onReset({ entries: [], revision: 1 });
    revision.now = 3;
    feed().onConnected(true);
    await clock.pass(10);
    expect(other.connected, 'the backlog is under way').to.equal(false);

    feed().onEvents([{ revision: 3, position: 0, key: 'a', entry: entry('a', 3) }]);
    await clock.pass(10);
    expect(other.connected).to.equal(true);
    feed().onConnected(false);
    expect(other.connected).to.equal(false);
  });

  it('is connected in the end when the store did not answer at first, and not when the connection is lost again', async () => {
    const { store: shy, feed, revision } = silentStore();
    let refusals = 2;
    const asked = async () => {
      if (refusals-- > 0) throw new StoreUnavailableFault('not now');
      return revision.now;
    };
    const other = new WatchCache({ store: { ...shy, revision: asked }, clock, log: silentLogger });
    void other.run(stop.signal);
    feed().onReset({ entries: [], revision: 1 });
    feed().onConnected(true);
    await clock.pass(5_000);
    expect(other.connected).to.equal(true);

    refusals = 1;
    feed().onConnected(true);
    feed().onConnected(false);
    await clock.pass(5_000);
    expect(other.connected).to.equal(false);
  });

  describe('barrier', () => {
    it('shares a probe among concurrent callers, but not one that is under way', async () => {
      const { store: probed, feed, probes } = silentStore();
      const other = new WatchCache({ store: probed, clock, log: silentLogger });
      void other.run(stop.signal);
      feed().onReset({ entries: [], revision: 1 });
      await Promise.all([other.barrier(), other.barrier(), other.barrier()]);
      expect(probes()).to.equal(1);
      await other.barrier();
      expect(probes()).to.equal(2);
    });

    it('does not let through what a store that was set back has never held, until that is read', async () => {
      const { store: restored, feed, revision } = silentStore();
      const other = new WatchCache({ store: restored, clock, log: silentLogger });
      void other.run(stop.signal);
      feed().onReset({ entries: [entry('a', 7)], revision: 7 });
      revision.now = 5;
      const refusal = await other.barrier().then(
        () => undefined,
        (fault: unknown) => fault,
      );
      expect(refusal).to.be.instanceOf(StoreUnavailableFault);
      feed().onReset({ entries: [], revision: 5 });
      await other.barrier();
      expect(other.get('a')).to.equal(undefined);
    });

    it('forces the progress of a watch that does not move, and gives up in the end', async () => {
      const { store: stuck, feed, revision } = silentStore();
      const other = new WatchCache({ store: stuck, clock, log: silentLogger, deadlineMs: 1_000 });
      void other.run(stop.signal);
      feed().onReset({ entries: [], revision: 1 });
      revision.now = 7;

      const outcome = other.barrier().then(
        () => undefined,
        (fault: unknown) => fault,
      );
      await clock.pass(60);
      expect(await stuck.get('barrier')).not.to.equal(undefined);
      await clock.pass(1_000);
      expect(await outcome).to.be.instanceOf(StoreUnavailableFault);
    });
  });
});

describe('key tree', () => {
  it('lists like a sorted filter over everything', () => {
    const key = fc
      .tuple(fc.constantFrom('a', 'a-', 'b'), fc.constantFrom('x', 'y', 'y0'))
      .map(parts => parts.join('/'));
    const step = fc.record({ key, deleted: fc.boolean(), look: fc.constantFrom('', 'a/', 'a-/', 'b/') });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const tree = new KeyTree();
        const plain = new Map<string, Entry>();
        for (const [revision, { key: at, deleted, look }] of steps.entries()) {
          const now = deleted ? undefined : entry(at, revision);
          expect(tree.set(at, now)).to.equal(plain.get(at));
          if (now) plain.set(at, now);
          else plain.delete(at);
          const wanted = [...plain.values()]
            .filter(one => one.key.startsWith(look))
            .sort((a, b) => (a.key < b.key ? -1 : 1));
          expect(tree.list(look)).to.deep.equal(wanted);
        }
      }),
    );
  });

  it('updates a long list in place after few changes and sorts it anew after many', () => {
    const tree = new KeyTree();
    for (let n = 0; n < 2_000; n++) tree.set(`a/${n}`, entry(`a/${n}`, n));
    tree.list('a/');
    for (const changes of [3, 1_000]) {
      for (let n = 0; n < changes; n++) tree.set(`a/${n * 2}`, undefined);
      const keys = tree.list('a/').map(({ key }) => key);
      expect(keys).to.deep.equal(keys.toSorted());
      expect(keys.length).to.equal(2_000 - changes);
    }
  });
});
