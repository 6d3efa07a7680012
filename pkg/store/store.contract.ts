import { expect } from 'chai';

import { BrokenInvariantFault } from '../fault/index.js';
import { create, remove, replace, update, value } from './documents.js';
import { CompactedFault, LeaseGoneFault, MissingFault } from './faults.js';
import { followingContract } from './following.contract.js';
import type { Change, Guard } from './store.js';
import { createChange, RecordingWatch, type StoreUnderTest } from './store.testing.js';

/** What every store promises. `subject` gives one that was opened before the tests; each test keeps to keys of its own. */
export function storeContract(name: string, subject: () => StoreUnderTest): void {
  const store = () => subject().store;

  describe(`${name}: guarded changes`, () => {
    it('creates where there is nothing, and only there', async () => {
      const first = await create(store(), 'create/a', { n: 1 });
      const second = await create(store(), 'create/a', { n: 2 });

      expect(first.stored).to.equal(true);
      expect(second).to.deep.equal({ stored: false });
      const entry = await store().get('create/a');
      expect(value(entry!)).to.deep.equal({ n: 1 });
      expect(first).to.deep.equal({ stored: true, revision: entry!.revision });
      expect(entry!.created).to.equal(entry!.revision);
    });

    it('replaces and removes exactly what was read', async () => {
      await create(store(), 'replace/a', { n: 1 });
      const stale = (await store().get('replace/a'))!;
      await update<{ n: number }>(store(), 'replace/a', ({ n }) => ({ n: n + 1 }));

      expect((await replace(store(), stale, { n: 0 })).stored).to.equal(false);
      expect((await remove(store(), stale)).stored).to.equal(false);
      const fresh = (await store().get('replace/a'))!;
      expect(value(fresh)).to.deep.equal({ n: 2 });
      expect(fresh.created).to.equal(stale.created);
      expect((await remove(store(), fresh)).stored).to.equal(true);
      expect(await store().get('replace/a')).to.equal(undefined);
    });

    it('gives a key that is made again a new identity', async () => {
      await create(store(), 'again/a', {});
      const before = (await store().get('again/a'))!;
      await remove(store(), before);
      await create(store(), 'again/a', {});

      expect((await store().get('again/a'))!.created).to.be.greaterThan(before.created);
    });

    it('makes all of a change or nothing', async () => {
      await create(store(), 'all/b', {});
      const both = {
        ...createChange('all/a', {}),
        puts: [createChange('all/a', {}).puts[0]!, createChange('all/b', { n: 2 }).puts[0]!],
      };

      expect((await store().commit({ ...both, guards: [...both.guards, { key: 'all/b', at: 0 }] })).stored).to.equal(
        false,
      );
      expect(await store().get('all/a')).to.equal(undefined);
      expect((await store().commit(both)).stored).to.equal(true);
      expect((await store().get('all/a'))!.revision).to.equal((await store().get('all/b'))!.revision);
    });

    const guards: ReadonlyArray<{ name: string; guard: (created: number, changed: number) => Guard; stored: boolean }> =
      [
        { name: 'at the last change', guard: (_, at) => ({ key: 'guard/parent', at }), stored: true },
        { name: 'not at an older one', guard: at => ({ key: 'guard/parent', at }), stored: false },
        { name: 'of this identity', guard: created => ({ key: 'guard/parent', created }), stored: true },
        { name: 'not of another identity', guard: (_, created) => ({ key: 'guard/parent', created }), stored: false },
        { name: 'there', guard: () => ({ key: 'guard/parent', exists: true }), stored: true },
        { name: 'not there', guard: () => ({ key: 'guard/nobody', exists: true }), stored: false },
        { name: 'absent', guard: () => ({ key: 'guard/nobody', at: 0 }), stored: true },
      ];
    for (const [number, { name: what, guard, stored }] of guards.entries()) {
      it(`asks whether another key is ${what}`, async () => {
        await create(store(), 'guard/parent', { n: 1 });
        await update(store(), 'guard/parent', ({ n }: { n: number }) => ({ n: n + 1 }));
        const parent = (await store().get('guard/parent'))!;

        const verdict = await store().commit(
          createChange(`guard/${number}`, {}, guard(parent.created, parent.revision)),
        );
        expect(verdict.stored).to.equal(stored);
      });
    }

    const broken: ReadonlyArray<{ name: string; change: Change }> = [
      { name: 'writes nothing', change: { guards: [{ key: 'x', at: 0 }], puts: [], deletes: [] } },
      { name: 'has no guard', change: { ...createChange('broken/a', {}), guards: [] } },
      { name: 'guards only other keys', change: { ...createChange('broken/a', {}), guards: [{ key: 'x', at: 0 }] } },
      {
        name: 'asks only that its key exists',
        change: { ...createChange('broken/a', {}), guards: [{ key: 'broken/a', exists: true }] },
      },
      {
        name: 'puts on an identity',
        change: { ...createChange('broken/a', {}), guards: [{ key: 'broken/a', created: 2 }] },
      },
      {
        name: 'deletes what must be absent',
        change: { guards: [{ key: 'broken/a', at: 0 }], puts: [], deletes: ['broken/a'] },
      },
      { name: 'writes a key twice', change: { ...createChange('broken/a', {}), deletes: ['broken/a'] } },
      { name: 'names a proof that it does not put', change: { ...createChange('broken/a', {}), proof: 'x' } },
    ];
    for (const { name: what, change } of broken) {
      it(`will not make a change that ${what}`, async () => {
        expect(await catchFault(store().commit(change))).to.be.instanceOf(BrokenInvariantFault);
      });
    }

    it('lets one of two win whose guards forbid each other, also when they come together', async () => {
      const verdicts = await Promise.all([
        store().commit(createChange('skew/a', {}, { key: 'skew/b', at: 0 })),
        store().commit(createChange('skew/b', {}, { key: 'skew/a', at: 0 })),
      ]);
      expect(verdicts.map(({ stored }) => stored)).to.deep.equal([true, false]);
    });

    it('judges changes that come together each on its own', async () => {
      await create(store(), 'together/1', {});
      const verdicts = await Promise.all([0, 1, 2].map(n => create(store(), `together/${n}`, {})));
      expect(verdicts.map(({ stored }) => stored)).to.deep.equal([true, false, true]);
    });

    it('lets the first of fifty who create one key win', async () => {
      const verdicts = await Promise.all(Array.from({ length: 50 }, (_, n) => create(store(), 'race/a', { n })));
      expect(verdicts.filter(({ stored }) => stored)).to.have.length(1);
    });

    it('updates until it is first, and writes nothing when nothing changes', async () => {
      await create(store(), 'update/a', { n: 0 });
      await Promise.all([1, 2, 3].map(() => update(store(), 'update/a', ({ n }: { n: number }) => ({ n: n + 1 }))));
      const before = (await store().get('update/a'))!;
      expect(value(before)).to.deep.equal({ n: 3 });
      await update(store(), 'update/a', same => same);
      expect((await store().get('update/a'))!.revision).to.equal(before.revision);
      expect(await catchFault(update(store(), 'update/none', same => same))).to.be.instanceOf(MissingFault);
    });
  });

  describe(`${name}: lists`, () => {
    it('lists one folder, in order, at one revision', async () => {
      for (const key of ['list/t1/b', 'list/t1/a', 'list/t10/a', 'list/t1-/a']) await create(store(), key, { key });
      const listing = await store().list('list/t1/');

      expect(listing.entries.map(({ key }) => key)).to.deep.equal(['list/t1/a', 'list/t1/b']);
      expect(listing.revision).to.equal(await store().revision());
      const all = await store().list('list/');
      expect(all.entries.map(({ key }) => key)).to.deep.equal(['list/t1-/a', 'list/t1/a', 'list/t1/b', 'list/t10/a']);
    });

    it('lists more than fits a page', async () => {
      await Promise.all(Array.from({ length: 1_203 }, (_, n) => create(store(), `pages/${n}`, { n })));
      const { entries } = await store().list('pages/');
      expect(new Set(entries.map(({ key }) => key)).size).to.equal(1_203);
    });

    it('reads page by page, at the revision of the first page', async () => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) await create(store(), `paged/${name}`, { name });
      const first = await store().page('paged/', { limit: 2 });
      await remove(store(), first.entries[0]!);
      await create(store(), 'paged/bb', {});
      const at = first.revision;
      const second = await store().page('paged/', { after: 'paged/b', limit: 2, at });
      const third = await store().page('paged/', { after: 'paged/d', limit: 2, at, keysOnly: true });

      const shown = [first, second, third].map(({ entries, more }) => [entries.map(({ key }) => key.slice(6)), more]);
      expect(shown).to.deep.equal([
        [['a', 'b'], true],
        [['c', 'd'], true],
        [['e'], false],
      ]);
      expect(third.entries[0]!.bytes).to.have.length(0);
      expect(third.entries[0]!.revision).to.be.greaterThan(0);
      const now = await store().page('paged/', { limit: 9 });
      expect(now.entries.map(({ key }) => key.slice(6))).to.deep.equal(['b', 'bb', 'c', 'd', 'e']);
    });

    it('looks back, as far as history is kept', async () => {
      await create(store(), 'past/a', { n: 1 });
      const then = await store().revision();
      await update(store(), 'past/a', () => ({ n: 2 }));
      await create(store(), 'past/b', {});

      const past = await store().list('past/', then);
      expect(past.revision).to.equal(then);
      expect(past.entries.map(entry => value(entry))).to.deep.equal([{ n: 1 }]);

      await subject().compact(await store().revision());
      expect(await catchFault(store().list('past/', then))).to.be.instanceOf(CompactedFault);
      expect(await catchFault(store().list('past/', then + 1_000_000))).to.be.instanceOf(CompactedFault);
    });
  });

  describe(`${name}: leases`, () => {
    it('takes the keys along when a lease is revoked', async () => {
      const lease = await store().grant(60);
      const change = createChange('lease/a', {});
      await store().commit({ ...change, puts: change.puts.map(one => ({ ...one, lease: lease.id })) });
      expect(await store().keepAlive(lease.id)).to.equal(true);

      await store().revoke(lease.id);
      expect(await store().get('lease/a')).to.equal(undefined);
      expect(await store().keepAlive(lease.id)).to.equal(false);
      await store().revoke(lease.id);
    });

    it('lets a key stay that was put again without the lease', async () => {
      const lease = await store().grant(60);
      const change = createChange('lease/kept', {});
      await store().commit({ ...change, puts: change.puts.map(one => ({ ...one, lease: lease.id })) });
      await update(store(), 'lease/kept', () => ({ n: 2 }));
      await store().revoke(lease.id);
      expect(await store().get('lease/kept')).not.to.equal(undefined);
    });

    it('refuses a put on a lease that has ended, and makes what came along with it', async () => {
      const lease = await store().grant(60);
      await store().revoke(lease.id);
      const change = createChange('lease/gone', {});
      const onLease = { ...change, puts: change.puts.map(one => ({ ...one, lease: lease.id })) };
      const [gone, fine] = await Promise.all([
        catchFault(store().commit(onLease)),
        create(store(), 'lease/beside', {}),
      ]);
      expect(gone).to.be.instanceOf(LeaseGoneFault);
      expect(fine.stored).to.equal(true);
      expect(await store().get('lease/gone')).to.equal(undefined);
    });

    it('ends a lease that is not extended, and notifies the followers', async () => {
      const feed = RecordingWatch.follow(store());
      await feed.synced();
      const [left, kept] = [await store().grant(2), await store().grant(2)];
      for (const [key, { id }] of [
        ['expire/left', left],
        ['expire/kept', kept],
      ] as const) {
        const change = createChange(key, {});
        await store().commit({ ...change, puts: change.puts.map(one => ({ ...one, lease: id })) });
      }
      for (let second = 0; second < 4; second++) {
        await subject().pass(1_000);
        await store().keepAlive(kept.id);
      }
      await feed.until(() => feed.keys().has('expire/kept') && !feed.keys().has('expire/left'));
      expect(feed.events.some(({ key, entry }) => key === 'expire/left' && !entry)).to.equal(true);
      await feed.stop();
    });
  });

  followingContract(name, subject);
}

async function catchFault(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (fault: unknown) => fault,
  );
}
