import { expect } from 'chai';

import { cacheScope, keys } from '../../crds/keys/index.js';
import type { StoredVolume } from '../../crds/volume/index.js';
import { systemClock } from '../../pkg/clock/index.js';
import { defaultPolicy, defineFleetIndexes } from '../../pkg/fleet/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { encode, MemoryStore, WatchCache } from '../../pkg/store/index.js';
import { readInput } from './reading.js';

const AT = '2030-01-01T00:00:00.000Z';
const meta = (uid: string) => ({ tenant: 't1', uid, generation: 1, createdAt: AT, updatedAt: AT, specHash: '' });

describe('the loss of the node of a volume', () => {
  it('counts only while the node is not heard, whatever its status still says', async () => {
    const feeding = new AbortController();
    const store = new MemoryStore({ clock: systemClock });
    const cache = new WatchCache({ store, clock: systemClock, log: silentLogger, ...cacheScope });
    defineFleetIndexes(cache);
    void cache.run(feeding.signal, { history: 10 });
    await cache.ready;
    const put = async (key: string, document: object) => {
      await store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(document) }], deletes: [] });
      await cache.barrier();
    };
    const capacity = { cpu: 1, memory: 1, disk: 1 };
    const node = { metadata: meta('node_a'), id: 'node_a', name: 'a', labels: {}, capacity, controlPlane: false };
    await put(keys.node('t1', 'a'), node);
    const lost = { id: 'node_a', status: 'failed', reason: 'fenced', since: AT, lost: 'fence' };
    await put(keys.nodeStatus('t1', 'a'), lost);
    const volume = { metadata: meta('vol_1'), id: 'vol_1', name: 'data' } as StoredVolume;
    const find = () => readInput(volume, cache, defaultPolicy).findHost('node_a')?.lost;

    const { still = [] } = find() ?? {};
    const promote = (id: string) => {
      const key = keys.volumeStatus('t1', id);
      return store.commit({ guards: [...still, { key, at: 0 }], puts: [{ key, bytes: encode({ id }) }], deletes: [] });
    };
    expect(await promote('vol_1')).to.include({ stored: true });
    await put(keys.alive('t1', 'a'), { id: 'node_a' });
    expect(await promote('vol_2')).to.include({ stored: false });
    expect(find()).to.equal(undefined);
    feeding.abort();
  });
});
