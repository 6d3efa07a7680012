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

const unseen = { phase: 0, asked: 0, moving: 0, stopped: 0, aborted: 0 };

async function open() {
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
  return { feeding, store, cache, put };
}

describe('the loss of the node of a volume', () => {
  it('counts only while the node sends no heartbeats, whatever its status still says', async () => {
    const { feeding, store, cache, put } = await open();
    const capacity = { cpu: 1, memory: 1, disk: 1 };
    const node = { metadata: meta('node_a'), id: 'node_a', name: 'a', labels: {}, capacity, controlPlane: false };
    await put(keys.node('t1', 'a'), node);
    const lost = { id: 'node_a', status: 'failed', reason: 'fenced', since: AT, lost: 'fence' };
    await put(keys.nodeStatus('t1', 'a'), lost);
    const volume = { metadata: meta('vol_1'), id: 'vol_1', name: 'data' } as StoredVolume;
    const find = () => readInput(volume, cache, defaultPolicy, unseen).findHost('node_a')?.lost;

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

describe('the nodes for copies of a volume', () => {
  it('are those that keep volumes with the driver of its primary, and of the others it is said why not', async () => {
    const { feeding, cache, put } = await open();
    const enrol = async (name: string, change: object) => {
      const capacity = { cpu: 1, memory: 1, disk: 0 };
      const node = { id: `node_${name}`, name, labels: {}, capacity, controlPlane: false, volumeAddress: `${name}:1` };
      await put(keys.node('t1', name), { metadata: meta(`node_${name}`), ...node, ...change });
      const ready = { id: `node_${name}`, status: 'ready', reason: 'heartbeat_received', since: AT };
      await put(keys.nodeStatus('t1', name), ready);
    };
    for (const [name, volumeDriver] of Object.entries({ a: 'btrfs', b: 'directory', c: 'btrfs' }))
      await enrol(name, { volumeDriver });
    await enrol('d', { volumeDriver: 'btrfs', volumeAddress: undefined });
    const volume = { metadata: meta('vol_1'), id: 'vol_1', name: 'data', type: 'volume', sizeBytes: 1 } as StoredVolume;
    const status = { id: 'vol_1', phase: 'Ready', reason: 'volume_ready', message: '', since: AT, copies: [] };
    await put(keys.volumeStatus('t1', 'vol_1'), { ...status, primaryNode: 'node_a' });
    const demand = { count: 2, named: [], taken: new Set(['node_a']) };
    const { nodes, because } = readInput(volume, cache, defaultPolicy, unseen).chooseReplicas(demand);
    expect(nodes.map(({ name }) => name)).to.deep.equal(['c']);
    expect(because).to.equal(
      '1 of 4 nodes can hold it: 1 in use for it already, 1 on the volume driver directory, not btrfs, 1 without an address for copies (moor agent --volume-listen)',
    );
    feeding.abort();
  });
});

describe('the volumes that are mounted with one', () => {
  it('are those that share a workload with it or with one of them, with where each is and could go', async () => {
    const { feeding, cache, put } = await open();
    const id = (digit: number) => `vol_${String(digit).repeat(26)}`;
    const size = { type: 'volume', sizeBytes: 1, accessMode: 'ReadWriteOnce' } as const;
    const make = (digit: number): StoredVolume => {
      return { metadata: meta(id(digit)), id: id(digit), name: `v${digit}`, class: 'replicated', ...size };
    };
    const copies = [
      { nodeId: 'node_b', state: 'synced' },
      { nodeId: 'node_c', state: 'syncing' },
    ];
    const move = { phase: 'Copying', message: '', to: 'node_b', since: AT };
    for (const digit of [1, 2, 3, 4]) {
      await put(keys.volume('t1', id(digit)), make(digit));
      const status = { id: id(digit), phase: 'Ready', reason: 'volume_ready', message: '', since: AT, copies };
      const place = { primaryNode: 'node_a', ...(digit === 3 && { move }) };
      await put(keys.volumeStatus('t1', id(digit)), { ...status, ...place });
    }
    const mount = (name: string, digits: readonly number[], more: object = {}) => {
      const volumes = digits.map(digit => ({
        volumeId: id(digit),
        type: 'volume',
        mountPath: `/${digit}`,
        readOnly: false,
      }));
      const metadata = { ...meta(`dep_${name}`), ...more };
      return put(keys.deployment('t1', name), {
        metadata,
        kind: 'Deployment',
        name,
        replicas: 1,
        image: 'x',
        secretsVersion: 0,
        volumes,
      });
    };
    await mount('web', [1, 2]);
    await mount('worker', [2, 3]);
    await mount('other', [4]);
    await mount('gone', [1, 4], { deletedAt: AT });
    const found = readInput(make(1), cache, defaultPolicy, unseen).listMountedWith();
    const place = { class: 'replicated', primaryNode: 'node_a', copiedTo: ['node_b'] };
    expect(found).to.deep.equal([
      { name: 'v2', ...place, movesTo: undefined },
      { name: 'v3', ...place, movesTo: 'node_b' },
    ]);
    feeding.abort();
  });
});
