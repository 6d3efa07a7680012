import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { MemoryStore } from './memory-store.js';
import { storeContract } from './store.contract.js';
import type { StoreUnderTest } from './store.testing.js';

describe('MemoryStore', () => {
  let subject: StoreUnderTest;

  before(() => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    subject = {
      store,
      pass: ms => clock.pass(ms),
      compact: async revision => store.compact(revision),
    };
  });

  storeContract('memory', () => subject);

  it('has an older state after a restore, at its revision, with its leases, and tells its followers', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    const bytes = Buffer.from('1');
    const put = (key: string, lease?: string) =>
      store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes, ...(lease && { lease }) }], deletes: [] });
    const list = async () => (await store.list('')).entries.map(({ key }) => key);
    await put('kept');
    await put('leased', (await store.grant(10)).id);
    const backup = store.save();
    await put('lost', (await store.grant(5)).id);
    const seen: string[] = [];
    const follow = new AbortController();
    void store.follow(
      {
        onReset: ({ entries, revision }) => seen.push(`${revision}: ${entries.map(({ key }) => key).join()}`),
        onEvents: events => seen.push(...events.map(({ key, entry }) => `${entry ? 'put' : 'deleted'} ${key}`)),
        onConnected: () => undefined,
      },
      {},
      follow.signal,
    );
    await clock.pass(8_000);
    store.restore(backup);
    expect([await list(), await store.revision()]).to.deep.equal([['kept', 'leased'], backup.revision]);
    await clock.pass(8_000);
    expect(await list(), 'a lease begins anew').to.deep.equal(['kept', 'leased']);
    await clock.pass(3_000);
    expect(await list()).to.deep.equal(['kept']);
    follow.abort();
    expect(seen).to.deep.equal([
      '4: kept,leased,lost',
      'deleted lost',
      `${backup.revision}: kept,leased`,
      'deleted leased',
    ]);
  });
});
