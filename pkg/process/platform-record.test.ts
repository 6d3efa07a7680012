import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import { AgreedClock } from '../clock/agreed-clock.js';
import { type Clock, seededRandom } from '../clock/index.js';
import { ManualClock, withWallClock } from '../clock/manual-clock.testing.js';
import { InvalidSettingFault } from '../config/index.js';
import { silentLogger } from '../log/index.js';
import { encode, MemoryStore, StoreUnavailableFault, value, WatchCache } from '../store/index.js';
import { findOwnNode, type PlatformPresence, PlatformRecord } from './platform-record.js';

const DAY_MS = 86_400_000;

describe('the record of a process of the control plane', () => {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const list = async () => (await store.list(ranges.platformOn('n1'))).entries.map(({ key }) => key);
  const start = (program: string, over: Partial<MemoryStore> = {}, own: Clock = clock, node = 'n1') => {
    const stop = new AbortController();
    const cache = new WatchCache({ store, clock, log: silentLogger });
    const agreed = new AgreedClock(own, node);
    const offsets: number[] = [];
    const reached = {
      get: store.get.bind(store),
      grant: store.grant.bind(store),
      keepAlive: store.keepAlive.bind(store),
      commit: store.commit.bind(store),
      revoke: store.revoke.bind(store),
      ...over,
    };
    const random = seededRandom(program.length);
    const parts = { store: reached, cache, clock: agreed, random, log: silentLogger };
    const record = new PlatformRecord({ ...parts, program, node, ttlSeconds: 30, onOffset: ms => offsets.push(ms) });
    void record.tried.then(() => cache.run(stop.signal));
    return { stop, agreed, offsets, ended: record.run(stop.signal) };
  };
  const stopAll = async (...all: readonly { readonly stop: AbortController; readonly ended: Promise<void> }[]) => {
    for (const { stop } of all) stop.abort();
    await clock.pass(0);
    await Promise.all(all.map(({ ended }) => ended));
  };

  it('is kept fresh almost without further writes, and removed at the end; each process has its own', async () => {
    const server = start('server');
    const controllers = start('controllers');
    await clock.pass(1_000);
    expect(await list()).to.have.length(2);
    const revision = await store.revision();
    await clock.pass(600_000);
    expect(await list()).to.have.length(2);
    expect(await store.revision(), 'two readings of each clock').to.equal(revision + 4);

    server.stop.abort();
    await clock.pass(0);
    await server.ended;
    const [left = ''] = await list();
    expect(left).to.match(/^platform\/n1\/controllers-[0-9a-f]{16}$/);
    controllers.stop.abort();
    await clock.pass(0);
    await controllers.ended;
    expect(await list()).to.deep.equal([]);
  });

  it('[3.26] ends with its lease when its process is cut off, and comes back', async () => {
    let isAway = false;
    const process = start('server', {
      keepAlive: async id => {
        if (isAway) throw new StoreUnavailableFault('away');
        return store.keepAlive(id);
      },
    });
    await clock.pass(1_000);
    expect(await list()).to.have.length(1);
    isAway = true;
    await clock.pass(31_000);
    expect(await list()).to.deep.equal([]);
    isAway = false;
    await clock.pass(20_000);
    expect(await list()).to.have.length(1);
    process.stop.abort();
    await clock.pass(0);
    await process.ended;
  });

  it('is written again when it was lost', async () => {
    const server = start('server');
    await clock.pass(1_000);
    const [key = ''] = await list();
    const at = (await store.get(key))!.revision;
    await store.commit({ guards: [{ key, at }], puts: [], deletes: [key] });
    await clock.pass(0);
    expect(await list()).to.deep.equal([key]);
    await stopAll(server);
  });

  it('tells the others what its clocks show: whose clock is off has the time of those that began before', async () => {
    const controllers = start('controllers');
    await clock.pass(1_000);
    const ahead = withWallClock(clock, () => clock.now() + DAY_MS);
    const server = start('server', {}, ahead, 'n2');
    await clock.pass(1_000);
    for (const { agreed } of [controllers, server]) expect(agreed.now()).to.equal(clock.now());
    await clock.pass(60_000);
    expect(server.offsets.at(-1)).to.equal(DAY_MS);
    expect(controllers.offsets.at(-1)).to.equal(0);
    const [, record] = (await store.list(ranges.platform)).entries.map(entry => value<PlatformPresence>(entry).clock);
    expect(record!.wall - record!.agreed).to.equal(DAY_MS);
    await stopAll(controllers, server);
  });

  it('agrees on a time when two start in one moment, and keeps it when one is replaced', async () => {
    const back = withWallClock(clock, () => clock.now() - DAY_MS);
    const [one, other] = [start('server'), start('controllers', {}, back)];
    await clock.pass(1_000);
    const time = one.agreed.now();
    expect(other.agreed.now()).to.equal(time);
    await stopAll(one);
    await clock.pass(30_000);
    const next = start('server', {}, clock, 'n3');
    await clock.pass(30_000);
    for (const { agreed } of [other, next]) expect(agreed.now()).to.equal(time + 60_000);
    await stopAll(other, next);
  });

  it('is no time where another release, or a hand, has written it', async () => {
    for (const [name, document] of Object.entries({ none: {}, null: null, odd: { clock: { wall: 'x' } } })) {
      const key = keys.platform('n9', name);
      await store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(document) }], deletes: [] });
    }
    const server = start('server');
    await clock.pass(1_000);
    expect(server.agreed.now()).to.equal(clock.now());
    await stopAll(server);
  });

  it('names the node as it is set, or as an agent of the machine is called', () => {
    expect(findOwnNode({ nodeName: 'attic' }, 'cellar')).to.equal('attic');
    expect(findOwnNode({ nodeName: '' }, 'Cellar.example.com')).to.equal('cellar');
    expect(findOwnNode({ nodeName: '' }, 'my_machine')).to.equal(undefined);
    expect(() => findOwnNode({ nodeName: 'a/b' })).to.throw(InvalidSettingFault);
  });
});
