import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { seededRandom, sleep } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { EventLeases, EventWriter } from '../events/index.js';
import { BrokenInvariantFault } from '../fault/index.js';
import { silentLogger } from '../log/index.js';
import { encode, MemoryStore, type Store, StoreUnavailableFault, value, WatchCache } from '../store/index.js';
import {
  done,
  type Loop,
  type LoopEnv,
  type LoopMeter,
  PreconditionFault,
  type Reconcile,
  type ReconcileOutcome,
  type Wake,
} from './loop.js';
import { runLoops } from './run-loops.js';

const clockwork = () => {
  const clock = new ManualClock();
  return { clock, store: new MemoryStore({ clock }) };
};

const copier = (reconcile: Reconcile): Loop => ({
  name: 'copier',
  wakes: [{ prefix: 'source/', keys: ({ key }) => [key.slice('source/'.length)] }],
  reconcile,
});

interface Started {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** One process that runs one loop. */
function start(loop: Loop, clock: ManualClock, store: Store, holder: string, meter?: LoopMeter): Started {
  const stop = new AbortController();
  const random = seededRandom(holder.length);
  const cache = new WatchCache({ store, clock, log: silentLogger });
  const feeding = new AbortController();
  void cache.run(feeding.signal);
  const ended = runLoops(
    [loop],
    {
      store,
      cache,
      clock,
      random,
      log: silentLogger,
      events: new EventWriter(new EventLeases(store, clock, 7), clock, random),
      holder,
      leaderLeaseSeconds: 9,
      ...(meter && { meter }),
    },
    stop.signal,
  ).finally(() => feeding.abort());
  return { stop, ended };
}

async function put(store: Store, key: string, document: unknown): Promise<void> {
  const seen = await store.get(key);
  await store.commit({
    guards: [{ key, at: seen?.revision ?? 0 }],
    puts: [{ key, bytes: encode(document) }],
    deletes: [],
  });
}

const copy = async (name: string, env: LoopEnv): Promise<void> => {
  const source = env.cache.get(`source/${name}`);
  const held = env.cache.get(`copy/${name}`);
  if (!source || held?.bytes.equals(source.bytes)) return;
  await env.commit({
    guards: [{ key: `copy/${name}`, at: held?.revision ?? 0 }],
    puts: [{ key: `copy/${name}`, bytes: source.bytes }],
    deletes: [],
  });
};

describe('runLoops', () => {
  it('reconciles every existing object first, and then each that changes', async () => {
    const { clock, store } = clockwork();
    await put(store, 'source/a', 1);
    start(
      copier(async (name, env) => (await copy(name, env), done)),
      clock,
      store,
      'one',
    );
    await clock.pass(2000);
    await put(store, 'source/b', 2);
    await clock.pass(10);

    expect((await store.list('copy/')).entries.map(({ key }) => key)).to.deep.equal(['copy/a', 'copy/b']);
  });

  it('goes on with every other object where a wake cannot read a key, from the start and later', async () => {
    const { clock, store } = clockwork();
    const careful = copier(async (name, env) => (await copy(name, env), done));
    const [wake] = careful.wakes;
    const keysOf: Wake['keys'] = (change, cache) => {
      if (change.key.includes('MALFORMED')) throw new Error('it is no name');
      return wake!.keys(change, cache);
    };
    const failing: Wake = {
      prefix: 'source/',
      keys: () => {
        throw new Error('a test');
      },
    };
    await put(store, 'source/MALFORMED', 0);
    await put(store, 'source/a', 1);
    start({ ...careful, wakes: [failing, { prefix: 'source/', keys: keysOf }] }, clock, store, 'one');
    await clock.pass(2000);
    await put(store, 'source/MALFORMED', 1);
    await put(store, 'source/b', 2);
    await clock.pass(10);

    expect((await store.list('copy/')).entries.map(({ key }) => key)).to.deep.equal(['copy/a', 'copy/b']);
  });

  it('shows a loop its own write before the next reconcile', async () => {
    const { clock, store } = clockwork();
    const shown: unknown[] = [];
    const loop = copier(async (name, env) => {
      await copy(name, env);
      const entry = env.cache.get(`copy/${name}`);
      shown.push(entry && value(entry));
      return done;
    });
    start(loop, clock, store, 'one');
    await clock.pass(2000);
    await put(store, 'source/a', 7);
    await clock.pass(10);

    expect(shown).to.deep.equal([7]);
  });

  it('retries a failed guard and a thrown error, but a permanent failure only when its object changes', async () => {
    const { clock, store } = clockwork();
    const runs: Record<string, number> = {};
    const endings: ReconcileOutcome[] = [];
    const loop = copier(async (name, env) => {
      runs[name] = (runs[name] ?? 0) + 1;
      if (name === 'outrun' && runs[name] === 1) {
        await env.commit({
          guards: [{ key: 'copy/outrun', at: 99 }],
          puts: [{ key: 'copy/outrun', bytes: encode(0) }],
          deletes: [],
        });
      }
      if (name === 'thrown' && runs[name] < 3) throw new Error('a test');
      if (name === 'hopeless') throw new BrokenInvariantFault('a test');
      return done;
    });
    const meter: LoopMeter = {
      depth: () => undefined,
      waited: () => undefined,
      leading: () => undefined,
      reconciled: (_loop, ending) => endings.push(ending),
    };
    start(loop, clock, store, 'one', meter);
    await clock.pass(2000);
    for (const name of ['outrun', 'thrown', 'hopeless']) await put(store, `source/${name}`, 1);
    await clock.pass(600_000);
    expect(runs).to.deep.equal({ outrun: 2, thrown: 3, hopeless: 1 });
    expect(endings.toSorted()).to.deep.equal(['done', 'done', 'refused', 'retry', 'retry', 'retry']);

    await put(store, 'source/hopeless', 2);
    await clock.pass(10);
    expect(runs['hopeless']).to.equal(2);
    await clock.pass(1_800_000);
    expect(runs['hopeless'], 'no key is dropped for ever').to.equal(3);
  });

  it('reads after a failure no older state than was stored by then', async () => {
    const { clock, store } = clockwork();
    const stored: boolean[] = [];
    let lostReplies = 1;
    const flaky: Store = new Proxy(store, {
      get: (target, name: keyof Store) => {
        if (name !== 'commit') return target[name].bind(target);
        return async (change: Parameters<Store['commit']>[0]) => {
          const verdict = await target.commit(change);
          if (change.puts[0]?.key.startsWith('copy/') && lostReplies-- > 0) throw new StoreUnavailableFault('a test');
          return verdict;
        };
      },
    });
    const loop = copier(async (name, env) => {
      stored.push(env.cache.get(`copy/${name}`) !== undefined);
      await copy(name, env);
      return done;
    });
    start(loop, clock, flaky, 'one');
    await clock.pass(2000);
    await put(store, 'source/a', 1);
    await clock.pass(10_000);

    expect(stored).to.deep.equal([false, true]);
  });

  it('refuses the writes of a leader that lost its leadership while it was suspended', async () => {
    const { clock, store } = clockwork();
    const outcomes: unknown[] = [];
    const loop = copier(async (name, env) => {
      await sleep(clock, 1000);
      try {
        await copy(name, env);
      } catch (thrown) {
        outcomes.push(thrown);
      }
      return done;
    });
    start(loop, clock, store, 'one');
    await clock.pass(2000);
    await put(store, 'source/a', 1);
    await clock.pass(500);
    const leader = await store.get(keys.leader('copier'));
    await store.revoke(value<{ lease: string }>(leader!).lease);
    await clock.pass(600);

    expect(outcomes[0]).to.be.instanceOf(PreconditionFault);
  });

  it('leads each loop in one process at a time and hands over at once on shutdown', async () => {
    const { clock, store } = clockwork();
    const by: string[] = [];
    const noting = (holder: string) =>
      copier(async (name, env) => {
        by.push(holder);
        await copy(name, env);
        return done;
      });
    const first = start(noting('first'), clock, store, 'first');
    await clock.pass(1000);
    start(noting('second'), clock, store, 'the second');
    await clock.pass(5000);
    await put(store, 'source/a', 1);
    await clock.pass(100);
    expect(by).to.deep.equal(['first']);

    first.stop.abort();
    await clock.pass(2000);
    await first.ended;
    expect(by).to.deep.equal(['first', 'second']);
  });

  it('lets a standby take over within 12 seconds when the leader vanishes', async () => {
    const { clock, store } = clockwork();
    await put(store, keys.leader('other'), {});
    const lease = await store.grant(9);
    await store.commit({
      guards: [{ key: keys.leader('copier'), at: 0 }],
      puts: [{ key: keys.leader('copier'), bytes: encode({ holder: 'dead' }), lease: lease.id }],
      deletes: [],
    });
    let took: number | undefined;
    await put(store, 'source/a', 1);
    start(
      copier(async () => ((took ??= clock.monotonic()), done)),
      clock,
      store,
      'one',
    );
    await clock.pass(12_000);

    expect(took).to.be.within(9000, 12_000);
  });

  it('finishes running reconciles on shutdown and starts no new ones', async () => {
    const { clock, store } = clockwork();
    const { stop, ended } = start(
      copier(async (name, env) => {
        await sleep(clock, 2000);
        await copy(name, env);
        return done;
      }),
      clock,
      store,
      'one',
    );
    await clock.pass(2000);
    await put(store, 'source/a', 1);
    await clock.pass(100);
    stop.abort();
    await clock.pass(5000);
    await ended;

    expect(await store.get(keys.leader('copier'))).to.equal(undefined);
    const revision = await store.revision();
    await put(store, 'source/b', 1);
    await clock.pass(60_000);
    expect(await store.revision()).to.equal(revision + 1);
  });

  it('writes the time of the last reconcile to the leader’s record, at most every 15 seconds and not while idle', async () => {
    const { clock, store } = clockwork();
    start(
      copier(async () => done),
      clock,
      store,
      'one',
    );
    await clock.pass(2000);
    const record = async () => value<{ lastReconcileAt?: string }>((await store.get(keys.leader('copier')))!);
    expect((await record()).lastReconcileAt).to.equal(undefined);

    const revisions = new Set<number>();
    for (let n = 0; n < 30; n++) {
      await put(store, 'source/a', n);
      await clock.pass(1000);
      revisions.add((await store.get(keys.leader('copier')))!.revision);
    }
    expect((await record()).lastReconcileAt).to.be.a('string');
    expect(revisions.size).to.be.within(2, 3);
    await clock.pass(15_000);
    const before = await store.revision();
    await clock.pass(600_000);
    expect(await store.revision()).to.equal(before);
  });
});
