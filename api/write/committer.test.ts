import { expect } from 'chai';

import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import { create, MemoryStore, OutcomeUnknownFault, type Store, WatchCache } from '../../pkg/store/index.js';
import { waitUntilCached } from './committer.js';

describe('waiting for the cache after a write', () => {
  const clock = new ManualClock();
  const follow = async (store: Store) => {
    const cache = new WatchCache({ store, clock, log: silentLogger });
    void cache.run(new AbortController().signal);
    await clock.pass(0);
    return cache;
  };

  it('ends when the cache has the revision', async () => {
    const store = new MemoryStore({ clock });
    const cache = await follow(store);
    const verdict = await create(store, 'k', {});
    await waitUntilCached(cache, verdict.stored ? verdict.revision : 0);
    expect(cache.get('k')).not.to.equal(undefined);
  });

  it('reports an unknown outcome, never an unstored write, when the cache is too late', async () => {
    const store = new MemoryStore({ clock });
    const cache = await follow(store);
    const outcome = waitUntilCached(cache, 1_000_000).then(
      () => 'shown',
      (thrown: unknown) => thrown,
    );
    await clock.pass(60_000);
    expect(await outcome).to.be.instanceOf(OutcomeUnknownFault);
  });
});
