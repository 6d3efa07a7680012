import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import type { Wake } from '../../pkg/reconcile/index.js';
import { encode, Entry, MemoryStore, WatchCache } from '../../pkg/store/index.js';
import { defineIndexes, wakeOnNodeChange, wakeOnNodeStatusChange } from './index.js';

const entry = (key: string, document: unknown) => new Entry(key, encode(document), 9);

describe('the change of a node that was replaced under its name while the watch was broken', () => {
  let cache: WatchCache;
  beforeEach(async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    cache = new WatchCache({ store, clock, log: silentLogger });
    defineIndexes(cache);
    void cache.run(new AbortController().signal);
    for (const [name, nodeId] of [
      ['old', 'node_1'],
      ['new', 'node_2'],
    ]) {
      const key = keys.replica('t1', name!, 0);
      const replica = { uid: name, tenant: 't1', deployment: name, slot: 0, nodeId, template: {} };
      await store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(replica) }], deletes: [] });
    }
    await cache.barrier();
  });

  const woken = ({ keys: wakes }: Wake, key: string, before: object, after: object) =>
    wakes({ key, entry: entry(key, after), previous: entry(key, before), revision: 9, position: 0 }, cache);

  it('wakes the deployments on both nodes', () => {
    const key = keys.node('t1', 'a');
    expect(woken(wakeOnNodeChange, key, { id: 'node_1', labels: {} }, { id: 'node_2', labels: {} })).to.have.members([
      't1/old',
      't1/new',
    ]);
    const status = { status: 'ready' };
    expect(
      woken(
        wakeOnNodeStatusChange,
        keys.nodeStatus('t1', 'a'),
        { id: 'node_1', ...status },
        { id: 'node_2', ...status },
      ),
    ).to.have.members(['t1/old', 't1/new']);
  });
});
