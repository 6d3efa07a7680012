import { expect } from 'chai';

import { type Clock, seededRandom } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import { StoreUnavailableFault } from './faults.js';
import { type LeaderRecord, Leadership, type LeadershipOptions } from './leadership.js';
import { MemoryStore } from './memory-store.js';
import { PausableClock } from './store.testing.js';
import type { Guard, Store, WatchHandler } from './store.js';
import { encode, value } from './documents.js';
import { WatchCache } from './watch-cache.js';

const TTL_SECONDS = 9;

/** One process that wants to lead, and what it did. */
class Candidate {
  readonly terms: { readonly fence: Guard; readonly upAt: number; downAt?: number }[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(holder: string, store: Store, clock: Clock, cache?: LeadershipOptions['cache']) {
    const leadership = new Leadership({
      store,
      ...(cache && { cache }),
      clock,
      random: seededRandom(holder.length),
      name: 'scheduler',
      holder,
      ttlSeconds: TTL_SECONDS,
      log: silentLogger,
    });
    this.#running = leadership.run(this.#stop.signal, async (fence, lost) => {
      const term: Candidate['terms'][number] = { fence, upAt: clock.monotonic() };
      this.terms.push(term);
      await new Promise<void>(resolve => lost.addEventListener('abort', () => resolve(), { once: true }));
      term.downAt = clock.monotonic();
    });
  }

  get leads(): boolean {
    const term = this.terms.at(-1);
    return term !== undefined && term.downAt === undefined;
  }

  stop(): Promise<void> {
    this.#stop.abort();
    return this.#running;
  }
}

/** A store that one process cannot reach. */
function cutOff(store: Store, isCut: () => boolean): Store {
  const check = async () => {
    if (isCut()) throw new StoreUnavailableFault('cut off');
  };
  return {
    get: async key => check().then(() => store.get(key)),
    list: (prefix, at) => store.list(prefix, at),
    page: (prefix, options) => store.page(prefix, options),
    commit: async change => check().then(() => store.commit(change)),
    revision: () => store.revision(),
    follow: (feed, options, signal) => store.follow(feed, options, signal),
    grant: async ttlSeconds => check().then(() => store.grant(ttlSeconds)),
    keepAlive: async id => check().then(() => store.keepAlive(id)),
    revoke: async id => check().then(() => store.revoke(id)),
    close: async () => undefined,
  };
}

describe('leadership', () => {
  let clock: ManualClock;
  let store: MemoryStore;

  let ended: AbortController;
  beforeEach(() => {
    clock = new ManualClock();
    store = new MemoryStore({ clock });
    ended = new AbortController();
  });
  afterEach(() => ended.abort());

  const follow = async (followed: Store = store) => {
    const cache = new WatchCache({ store: followed, clock, log: silentLogger });
    void cache.run(ended.signal);
    await cache.ready;
    return cache;
  };

  it('has one stable leader and names it', async () => {
    const [a, b] = [new Candidate('a', store, clock), new Candidate('b', store, clock)];
    await clock.pass(120_000);

    expect([a.leads, b.leads].filter(Boolean)).to.have.length(1);
    expect(a.terms.length + b.terms.length).to.equal(1);
    const entry = (await store.get('leaders/scheduler'))!;
    expect(value<LeaderRecord>(entry).holder).to.equal(a.leads ? 'a' : 'b');
    await Promise.all([a.stop(), b.stop()]);
  });

  it('hands over at once when the leader stops', async () => {
    const a = new Candidate('a', store, clock);
    await clock.pass(1_000);
    const b = new Candidate('b', store, clock);
    await clock.pass(1_000);
    await a.stop();
    expect(await store.get('leaders/scheduler')).to.equal(undefined);
    await clock.pass(2_000);
    expect(b.leads).to.equal(true);
    await b.stop();
  });

  it('gives up at two thirds of its lease, before another leader is elected, within 12 s', async () => {
    let cut = false;
    const a = new Candidate(
      'a',
      cutOff(store, () => cut),
      clock,
    );
    await clock.pass(1_000);
    const b = new Candidate('b', store, clock);
    await clock.pass(10_000);
    const cutAt = clock.monotonic();
    cut = true;
    await clock.pass(12_000);

    expect(a.leads).to.equal(false);
    expect(a.terms[0]!.downAt! - cutAt).to.be.at.most((TTL_SECONDS * 2_000) / 3);
    expect(b.leads).to.equal(true);
    expect(b.terms[0]!.upAt).to.be.greaterThan(a.terms[0]!.downAt!);
    expect(b.terms[0]!.upAt - cutAt).to.be.at.most(12_000);
    await b.stop();
    await a.stop();
  });

  it('stops a leader by its fence that was paused past its lease', async () => {
    const paused = new PausableClock(clock);
    const a = new Candidate('a', store, paused);
    await clock.pass(1_000);
    const b = new Candidate('b', store, clock);
    await clock.pass(1_000);
    paused.paused = true;
    await clock.pass(12_000);
    expect([a.leads, b.leads]).to.deep.equal([true, true]); // a cannot know yet

    const change = { guards: [{ key: 'x', at: 0 }], puts: [{ key: 'x', bytes: encode('a') }], deletes: [] };
    const fenced = { ...change, guards: [...change.guards, a.terms[0]!.fence] };
    expect(await store.commit(fenced)).to.deep.equal({ stored: false });
    expect((await store.commit(change)).stored).to.equal(true); // what the fence keeps from event

    paused.resume();
    await clock.pass(1);
    expect(a.leads).to.equal(false);
    await Promise.all([a.stop(), b.stop()]);
  });

  for (const hasCache of [false, true]) {
    const how = hasCache ? 'with a cache' : 'without one';
    it(`leads again at once after an outage that was longer than its term and shorter than its lease, ${how}`, async () => {
      const cache = await follow();
      let cut = false;
      const a = new Candidate(
        'a',
        cutOff(store, () => cut),
        clock,
        hasCache ? cache : undefined,
      );
      await clock.pass(1_000);
      cut = true;
      await clock.pass(7_000); // it gives up at 6 s, and cannot give its lease back
      expect(a.leads).to.equal(false);
      const holding = value<LeaderRecord>((await store.get('leaders/scheduler'))!).lease;
      await store.keepAlive(holding); // as etcd does when it has elected a leader of its own
      cut = false;
      await clock.pass(2_000);

      expect(a.leads).to.equal(true);
      expect(a.terms).to.have.length(2);
      await a.stop();
    });
  }

  it('loses leadership when its lease is revoked, and campaigns again', async () => {
    const a = new Candidate('a', store, clock);
    await clock.pass(1_000);
    await store.revoke(value<LeaderRecord>((await store.get('leaders/scheduler'))!).lease);
    await clock.pass(5_000);

    expect(a.terms).to.have.length(2);
    expect(a.leads).to.equal(true);
    await a.stop();
  });

  describe('of a standby with a cache', () => {
    let asked = 0;
    let counted: Store;
    const deaf = { subscribe: () => () => undefined };
    beforeEach(() => {
      asked = 0;
      const count = () => {
        asked++;
        return false;
      };
      counted = cutOff(store, count);
    });

    it('asks the store once a lease, and takes over when that of the leader has ended', async () => {
      const cache = await follow();
      let cut = false;
      const a = new Candidate(
        'a',
        cutOff(store, () => cut),
        clock,
      );
      await clock.pass(1_000);
      const b = new Candidate('b', counted, clock, cache);
      await clock.pass(10 * TTL_SECONDS * 1_000);
      expect(asked).to.be.within(9, 11);

      cut = true;
      for (let ms = 0; ms < TTL_SECONDS * 1_000 && (await store.get('leaders/scheduler')); ms += 100) {
        await clock.pass(100);
      }
      await clock.pass(1);
      expect([a.leads, b.leads]).to.deep.equal([false, true]);

      const c = new Candidate('c', counted, clock, cache);
      await clock.pass(1_000);
      await b.stop();
      await clock.pass(1);
      expect(c.leads, 'as soon as b has given its lease back').to.equal(true);
      await Promise.all([a.stop(), c.stop()]);
    });

    it('is woken only when the record of the leader is deleted, or to stop, and unsubscribes', async () => {
      const cache = await follow();
      let open = 0;
      let most = 0;
      const watched: LeadershipOptions['cache'] = {
        get connected() {
          return cache.connected;
        },
        get: key => cache.get(key),
        subscribe: listener => {
          most = Math.max(most, ++open);
          const unsubscribe = cache.subscribe(listener);
          return () => {
            open--;
            unsubscribe();
          };
        },
      };
      const a = new Candidate('a', store, clock);
      await clock.pass(1_000);
      const b = new Candidate('b', counted, clock, watched);
      await clock.pass(3 * TTL_SECONDS * 1_000);
      const before = asked;
      const own = (await store.get('leaders/scheduler'))!;
      const puts = [
        { key: 'x', bytes: encode('x') },
        { key: own.key, bytes: own.bytes, lease: value<LeaderRecord>(own).lease },
      ];
      const guards = [
        { key: 'x', at: 0 },
        { key: own.key, at: own.revision },
      ];
      const { revision } = (await store.commit({ guards, puts, deletes: [] })) as { readonly revision: number };
      await store.commit({ guards: [{ key: 'x', at: revision }], puts: [], deletes: ['x'] });
      await clock.pass(1);
      expect(asked).to.equal(before);
      await b.stop(); // though no time passes
      expect([open, most]).to.deep.equal([0, 1]);
      await a.stop();
    });

    it('takes over within two leases when its cache goes on to show a leader that has gone', async () => {
      const a = new Candidate('a', store, clock);
      await clock.pass(1_000);
      const shown = await store.get('leaders/scheduler');
      let failing = 0;
      const failingTwice = cutOff(store, () => failing > 0 && failing-- > 0);
      const b = new Candidate('b', failingTwice, clock, { ...deaf, connected: true, get: () => shown });
      await clock.pass(1_000);
      await a.stop();
      failing = 2;
      await clock.pass(2 * TTL_SECONDS * 1_000);
      expect(b.leads).to.equal(true);
      await b.stop();
    });

    for (const since of ['is not connected', 'shows no leader'] as const) {
      it(`asks the store each time while its cache ${since}, also when that begins while it waits`, async () => {
        const a = new Candidate('a', store, clock);
        await clock.pass(1_000);
        const record = await store.get('leaders/scheduler');
        let isSo = false;
        const b = new Candidate('b', counted, clock, {
          ...deaf,
          get connected() {
            return !(isSo && since === 'is not connected');
          },
          get: () => (isSo && since === 'shows no leader' ? undefined : record),
        });
        await clock.pass(TTL_SECONDS * 500);
        expect(asked).to.equal(1);
        isSo = true;
        await clock.pass(TTL_SECONDS * 1_000);
        expect(asked).to.be.at.least(6);
        await Promise.all([a.stop(), b.stop()]);
      });
    }

    it('leads again after a pause when its term has failed, however late its cache shows that its record is deleted', async () => {
      const late: Store = {
        ...cutOff(store, () => false),
        follow: (feed, options, signal) => {
          const onEvents: WatchHandler['onEvents'] = events => void clock.after(5, () => feed.onEvents(events));
          return store.follow(
            { ...feed, onReset: feed.onReset.bind(feed), onConnected: feed.onConnected.bind(feed), onEvents },
            options,
            signal,
          );
        },
      };
      const cache = await follow(late);
      let terms = 0;
      const leadership = new Leadership({
        store,
        cache,
        clock,
        random: seededRandom(1),
        name: 'scheduler',
        holder: 'a',
        ttlSeconds: TTL_SECONDS,
        log: silentLogger,
      });
      const running = leadership.run(ended.signal, () => {
        terms++;
        return Promise.reject(new Error('a wake throws'));
      });
      await clock.pass(TTL_SECONDS * 1_000);
      expect(terms).to.be.within(6, 20);
      ended.abort();
      await running;
    });
  });
});
