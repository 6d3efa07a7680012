import { expect } from 'chai';

import { seededRandom, sleep } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { silentLogger } from '../../log/index.js';
import { CompactedFault, StoreUnavailableFault } from '../faults.js';
import { Entry, type Revision } from '../entry.js';
import type { FollowOptions, Store, WatchEvent, WatchHandler } from '../store.js';
import { WatchCache } from '../watch-cache.js';
import { DeliveredState, EtcdFollow } from './etcd-follow.js';
import type { EtcdReads } from './etcd-reads.js';
import { CLUSTER, createScriptedClient, encodeWatchResponse } from './scripted-etcd.testing.js';

const put = (key: string, revision: number): WatchEvent => ({
  key,
  revision,
  position: 0,
  entry: new Entry(key, Buffer.from('{}'), revision, 1),
});
const removal = (key: string, revision: number): WatchEvent => ({ key, revision, position: 0, entry: undefined });

describe('the delivered state of a follower', () => {
  it('asks the store to confirm the five keys that changed last, however often one of them changes', () => {
    const state = new DeliveredState();
    state.apply(['a', 'b', 'c', 'd', 'e', 'f'].map((key, at) => put(key, at + 1)));
    state.apply(Array.from({ length: 20 }, (_, at) => put('barrier', 10 + at)));
    expect([...state.recent.keys()]).to.deep.equal(['c', 'd', 'e', 'f', 'barrier']);
    expect(state.recent.get('barrier')?.entry?.revision).to.equal(29);
  });

  it('asks the store to confirm that a deleted key is absent, and was there before', () => {
    const state = new DeliveredState();
    state.apply([put('a', 1), put('b', 2), removal('a', 3)]);
    expect([...state.recent]).to.deep.equal([
      ['b', { entry: put('b', 2).entry }],
      ['a', { deleted: { at: 3, removed: 1 } }],
    ]);
  });

  it('asks the store to confirm also what it does not remember otherwise', () => {
    const state = new DeliveredState(['events/']);
    state.apply([put('a', 1), put('events/1', 2), removal('events/0', 3)]);
    expect([...state.recent]).to.deep.equal([
      ['a', { entry: put('a', 1).entry }],
      ['events/1', { entry: put('events/1', 2).entry }],
      ['events/0', { deleted: { at: 3, removed: undefined } }],
    ]);
    expect([state.size, state.delivered]).to.deep.equal([1, 3]);
  });

  it('begins with the newest keys of a list', () => {
    const state = new DeliveredState();
    const entries = [3, 1, 7, 5, 2, 6, 4].map(revision => put(`key-${revision}`, revision).entry!);
    state.reset({ entries, revision: 9 });
    expect([...state.recent.values()].map(({ entry }) => entry?.revision)).to.deep.equal([3, 4, 5, 6, 7]);
  });
});

/** How long a call waits for an answer, and how soon a client is connected again after a healing (`etcd-client.test.ts`). */
const [CALL_DEADLINE_MS, RECONNECTED_WITHIN_MS] = [3_000, 250] as const;

const STEP_MS = 25;

/** An etcd of the test in virtual time, followed by a cache, as in a server. */
class FollowLab {
  readonly clock = new ManualClock();
  readonly resets: Revision[] = [];
  /** Watches that were begun. */
  streams = 0;
  readonly cache: WatchCache;
  clusterId = CLUSTER;
  compactedTo = 0;
  /** Whether nothing is answered, or everything is refused at once. */
  cut: 'silent' | 'refused' | undefined;
  readonly #entries = new Map<string, Entry>();
  readonly #stop = new AbortController();
  #revision = 0;
  #endStream: (() => void) | undefined;

  constructor() {
    const store = {
      follow: (handler: WatchHandler, options: FollowOptions, signal: AbortSignal) =>
        this.#follow(handler, options).run(signal),
      revision: () => this.#answer(() => this.#revision),
      get: async () => undefined,
      commit: async () => ({ stored: false }),
    };
    this.cache = new WatchCache({ store: store as unknown as Store, clock: this.clock, log: silentLogger });
    this.cache.onReset(revision => this.resets.push(revision));
  }

  async start(): Promise<void> {
    void this.cache.run(this.#stop.signal);
    await this.pass(1_000);
    expect(this.cache.connected).to.equal(true);
  }

  /** Lets time pass in small steps, so that what is said meanwhile is heard. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) await this.clock.pass(STEP_MS);
  }

  stop(): void {
    this.#stop.abort();
  }

  put(key: string): void {
    const revision = ++this.#revision;
    const created = this.#entries.get(key)?.created ?? revision;
    this.#entries.set(key, new Entry(key, Buffer.from('{}'), revision, created));
  }

  /** The connection of the watch breaks. */
  breakStream(): void {
    this.#endStream?.();
  }

  #follow(handler: WatchHandler, options: FollowOptions): EtcdFollow {
    const listing = () => ({
      entries: [...this.#entries.values()],
      revision: this.#revision,
      clusterId: this.clusterId,
    });
    const reads = {
      clusterId: () => this.#answer(() => this.clusterId),
      revision: () => this.#answer(() => this.#revision),
      list: () => this.#answer(listing),
      entry: (key: string, at: Revision) =>
        this.#answer(() => {
          if (at < this.compactedTo) throw new CompactedFault(at);
          return this.#entries.get(key);
        }),
    };
    const client = createScriptedClient(
      (stream, sent) => {
        this.#endStream = () => stream.end();
        if (sent === 0) this.streams++;
        if (this.cut) return;
        const news = encodeWatchResponse(this.#revision, { created: sent === 0, clusterId: this.clusterId });
        setImmediate(() => stream.say(news));
      },
      () => this.#answer(() => undefined),
    );
    const { clock } = this;
    const times = { livenessMs: 2_000, compareEveryMs: 300_000 };
    const env = { clock, random: seededRandom(1), log: silentLogger, ...times };
    return new EtcdFollow(
      { ...env, client, reads: reads as unknown as EtcdReads, root: '/mooring/' },
      handler,
      options,
    );
  }

  async #answer<T>(answer: () => T): Promise<T> {
    const until = this.clock.monotonic() + CALL_DEADLINE_MS;
    while (this.cut) {
      if (this.cut === 'refused' || this.clock.monotonic() >= until)
        throw new StoreUnavailableFault('no member of etcd can be reached');
      await sleep(this.clock, RECONNECTED_WITHIN_MS);
    }
    return answer();
  }
}

describe('following etcd through a cut', () => {
  let lab: FollowLab;
  beforeEach(async () => {
    lab = new FollowLab();
    lab.put('a');
    await lab.start();
  });
  afterEach(() => lab.stop());

  for (const cut of ['silent', 'refused'] as const)
    it(`shows everything again within a second, of virtual time, after 8 s that were ${cut} and a compaction`, async () => {
      lab.cut = cut;
      if (cut === 'refused') lab.breakStream();
      lab.put('b');
      lab.compactedTo = 2;
      await lab.pass(8_000);
      expect(lab.cache.connected).to.equal(false);
      expect(lab.cache.get('b')).to.equal(undefined);

      lab.cut = undefined;
      let isFresh = false;
      void lab.cache.barrier().then(() => {
        isFresh = true;
      });
      await lab.pass(1_000);
      expect(isFresh, 'a read that is linearizable').to.equal(true);
      expect(lab.cache.connected).to.equal(true);
      expect(lab.cache.get('b')?.revision).to.equal(2);
      expect(lab.resets).to.deep.equal([1, 2]);
    });

  it('goes on where it was when the cluster is the same, and nothing is missing', async () => {
    lab.breakStream();
    await lab.pass(1_000);
    expect(lab.cache.connected).to.equal(true);
    expect(lab.resets).to.deep.equal([1]);
    expect(lab.streams).to.equal(2);
  });

  it('lists again when another cluster answers, though that confirms everything that was delivered', async () => {
    lab.clusterId = '8';
    lab.breakStream();
    await lab.pass(1_000);
    expect(lab.cache.connected).to.equal(true);
    expect(lab.resets).to.deep.equal([1, 1]);
    expect(lab.streams, 'watches: none was begun after the revision of another cluster').to.equal(2);
  });
});
