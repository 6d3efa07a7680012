import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import type { Wake } from '../../pkg/reconcile/index.js';
import { encode, Entry, MemoryStore, WatchCache } from '../../pkg/store/index.js';
import { defineIndexes, wakeOnNodeChange, wakeOnNodeStatusChange, wakeOnPromotion } from './index.js';

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

describe('the status of a promoted volume that was lost and is made good', () => {
  it('wakes what mounts the volume, wherever it was placed before', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    const cache = new WatchCache({ store, clock, log: silentLogger });
    defineIndexes(cache);
    void cache.run(new AbortController().signal);
    const put = async (name: string, volumeId: string) => {
      const key = keys.replica('t1', name, 0);
      const template = { volumes: [{ volumeId, type: 'volume', mountPath: '/data', readOnly: false }] };
      const replica = { uid: name, tenant: 't1', deployment: name, slot: 0, nodeId: 'node_1', template };
      await store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(replica) }], deletes: [] });
    };
    await put('web', 'vol_1');
    await put('other', 'vol_2');
    await cache.barrier();
    const key = keys.volumeStatus('t1', 'vol_1');
    const wake = (epoch: number, revision: number) =>
      wakeOnPromotion.keys(
        {
          key,
          entry: entry(key, { id: 'vol_1', epoch, primaryNode: 'node_2' }),
          previous: undefined,
          revision,
          position: 0,
        },
        cache,
      );

    expect(wake(3, cache.revision)).to.deep.equal(['t1/web']);
    expect(wake(1, cache.revision), 'one that was never promoted is where it was').to.deep.equal([]);
    expect(wake(3, 1), 'a new leader looks at everything by itself').to.deep.equal([]);
  });
});
