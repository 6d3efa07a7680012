import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { type Change, create, MemoryStore, remove, WatchCache } from '../../pkg/store/index.js';
import { defaultRetention, listSurplusArchives, listSurplusEvents, retainHistory } from './retention.js';

const TENANT = 't1';

describe('retention', () => {
  it('takes the oldest events beyond the limit', () => {
    const events = ['evt_1', 'evt_2', 'evt_3'].map((id, at) => ({ key: keys.event(TENANT, id), revision: 9 - at }));
    expect(listSurplusEvents(events, 3)).to.deep.equal([]);
    expect(listSurplusEvents(events, 1)).to.deep.equal(events.slice(0, 2));
    expect(listSurplusEvents(events, 0)).to.deep.equal(events);
  });

  it('takes archives beyond fifty of a deployment, and of deleted ones those that were written longest ago', () => {
    const of = (uid: string, generation: number, revision: number) => ({
      key: keys.archive(TENANT, uid, generation),
      revision,
    });
    const live = Array.from({ length: 60 }, (_, at) => of('dep_live', at + 1, at + 1));
    const deleted = [of('dep_z', 1, 100), of('dep_z', 2, 101), of('dep_a', 1, 102), of('dep_b', 1, 50)];
    const surplus = listSurplusArchives([...live, ...deleted], new Set(['dep_live']), 2);

    expect(surplus.map(({ key }) => key)).to.have.members([
      ...live.slice(0, 10).map(({ key }) => key),
      keys.archive(TENANT, 'dep_z', 1),
      keys.archive(TENANT, 'dep_b', 1),
    ]);
  });

  it('takes the oldest of archives that one restore has written at once', () => {
    const imported = Array.from({ length: 50 }, (_, at) => ({
      key: keys.archive(TENANT, 'dep_a', at + 1),
      revision: 7,
    }));
    const restored = { key: keys.archive(TENANT, 'dep_a', 51), revision: 7 };
    for (const order of [
      [...imported, restored],
      [restored, ...imported.toReversed()],
    ]) {
      expect(listSurplusArchives(order, new Set(['dep_a']), 2)).to.deep.equal([imported[0]]);
    }
  });

  it('[2.8.14] takes those of deleted deployments that make them too large together, beyond the newest thousand', () => {
    const archives = Array.from({ length: 1_200 }, (_, at) => ({
      key: keys.archive(TENANT, `dep_${String(at).padStart(4, '0')}`, 1),
      revision: at + 1,
    }));
    const surplus = (bytes: number) =>
      listSurplusArchives(archives, new Set(), 5_000, new Map(archives.map(({ key }) => [key, bytes]))).length;
    expect(surplus(50_000), '60 MB in all').to.equal(0);
    expect(surplus(64 * 1024), 'of which 1024 are 64 MiB').to.equal(176);
    expect(surplus(256 * 1024), 'a thousand are kept').to.equal(200);
  });

  describe('of one tenant', () => {
    let clock: ManualClock;
    let store: MemoryStore;
    let env: LoopEnv;
    const stopped = new AbortController();
    after(() => stopped.abort());

    beforeEach(async () => {
      clock = new ManualClock();
      store = new MemoryStore({ clock });
      const cache = new WatchCache({ store, clock, log: silentLogger });
      void cache.run(stopped.signal);
      await cache.ready;
      const commit = async (change: Change) => void (await store.commit(change));
      env = { cache, reads: store, clock, log: silentLogger, commit } as unknown as LoopEnv;
    });

    /** One deployment that came and went. */
    const comeAndGo = async (number: number) => {
      const id = String(number).padStart(5, '0');
      const key = keys.deployment(TENANT, `d${id}`);
      await create(store, key, { metadata: { uid: `dep_${id}` } });
      for (const generation of [1, 2]) await create(store, keys.archive(TENANT, `dep_${id}`, generation), {});
      for (const which of ['a', 'b', 'c']) await create(store, keys.event(TENANT, `evt_${id}${which}`), {});
      await remove(store, (await store.get(key))!);
      const former = { deployments: [{ uid: `dep_${id}`, lastRevision: 2, deletedAt: '' }] };
      await create(store, keys.formerDeployments(TENANT, `d${id}`), former);
    };
    const count = async () => (await store.list('')).entries.length;

    it('leaves as many keys whether a hundred deployments came and went, or four hundred', async () => {
      const retain = retainHistory({ eventsPerTenant: 30, archivesOfDeleted: 20 });
      const counts: number[] = [];
      for (let number = 0; number < 400; number++) {
        await comeAndGo(number);
        if (number % 100 !== 99) continue;
        await clock.pass(60_000);
        await retain(keys.tenant(TENANT), env, stopped.signal);
        counts.push(await count());
      }

      // The records of the ten names whose archives are left, beside events and archives.
      expect(counts).to.deep.equal([60, 60, 60, 60]);
      const former = (await store.list(ranges.of(ranges.formerDeployments, TENANT))).entries;
      expect(former.map(({ key }) => key))
        .to.include(keys.formerDeployments(TENANT, 'd00399'))
        .and.to.have.length(10);
      const kept = (await store.list(ranges.of(ranges.events, TENANT))).entries.map(({ key }) => key);
      expect(kept[0]).to.equal(keys.event(TENANT, 'evt_00390a'));
    });

    it('[2.8.14] keeps fifty of each of many deleted deployments, by default of 200, and reads each entry for its size once', async () => {
      const retain = retainHistory(defaultRetention);
      for (let number = 0; number < 30; number++) {
        const keysOf = Array.from({ length: 50 }, (_, at) => keys.archive(TENANT, `dep_${number}`, at + 1));
        const puts = keysOf.map(key => ({ key, bytes: Buffer.from('{}') }));
        await store.commit({ guards: [{ key: keysOf[0]!, at: 0 }], puts, deletes: [] });
      }
      let read = 0;
      const page: LoopEnv['reads']['page'] = async (prefix, options) => {
        const found = await store.page(prefix, options);
        if (options.keysOnly !== true) read += found.entries.length;
        return found;
      };
      for (let turn = 0; turn < 2; turn++) {
        await retain(keys.tenant(TENANT), { ...env, reads: { ...env.reads, page } }, stopped.signal);
        await clock.pass(60_000);
      }
      expect((await store.list(ranges.of(ranges.archives, TENANT))).entries).to.have.length(1_500);
      expect(read).to.equal(1_500);
      expect(defaultRetention.archivesOfDeleted).to.be.at.least(200 * 50);
    });

    it('keeps the record of a deployment that came and went while it looked', async () => {
      const retain = retainHistory({ eventsPerTenant: 100, archivesOfDeleted: 100 });
      await comeAndGo(1);
      await env.cache.barrier();
      let isChanged = false;
      const page: LoopEnv['reads']['page'] = async (prefix, options) => {
        const found = await store.page(prefix, options);
        if (prefix !== ranges.of(ranges.archives, TENANT) || isChanged) return found;
        isChanged = true;
        await comeAndGo(2);
        await env.cache.barrier();
        return found;
      };
      await retain(keys.tenant(TENANT), { ...env, reads: { ...env.reads, page } }, stopped.signal);
      for (const name of ['d00001', 'd00002']) {
        expect(await store.get(keys.formerDeployments(TENANT, name)), name).to.not.equal(undefined);
      }
    });

    it('keeps what belongs to a deployment that exists, and looks once a minute', async () => {
      const retain = retainHistory({ eventsPerTenant: 0, archivesOfDeleted: 0 });
      await create(store, keys.deployment(TENANT, 'web'), { metadata: { uid: 'dep_web' } });
      await create(store, keys.archive(TENANT, 'dep_web', 1), {});
      expect(await retain(keys.tenant(TENANT), env, stopped.signal)).to.include({ kind: 'done' });
      expect(await store.get(keys.archive(TENANT, 'dep_web', 1))).to.not.equal(undefined);

      await clock.pass(20_000);
      expect(await retain(keys.tenant(TENANT), env, stopped.signal)).to.include({ kind: 'again', afterMs: 40_000 });
    });
  });
});
