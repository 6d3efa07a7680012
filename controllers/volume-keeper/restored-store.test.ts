import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import { declareRestore } from '../../pkg/link/index.js';
import { AT, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';
import { makeVolume } from '../../crds/volume/volume.testing.js';

const ID = `vol_${'1'.repeat(26)}`;
const volume = makeVolume(makeMetadata(ID), { primaryNode: 'node_a' });

describe('volumes of a store that was restored', () => {
  let cluster: TestCluster;

  beforeEach(() => {
    cluster = new TestCluster();
    cluster.controllers('one');
  });
  afterEach(() => cluster.close());

  it('get no other primary before that is declared, and then one in an epoch that was never issued before', async () => {
    const status = async () => (await cluster.get<VolumeStatus>(keys.volumeStatus(TENANT, ID)))!;
    const say = (nodeId: string, change: Partial<VolumeReport>) =>
      cluster.put(keys.volumeReport(TENANT, ID, nodeId), { id: ID, state: 'ready', nodeId, at: AT, ...change });
    const lease = await cluster.enrol('a');
    await cluster.enrol('b');
    for (const name of ['a', 'b']) await cluster.change(name, { volumeAddress: `10.0.0.1:${name === 'a' ? 1 : 2}` });
    await cluster.put(keys.volume(TENANT, ID), volume);
    await cluster.clock.pass(20_000);
    const first = (await status()).lineage![0]!;
    const syncedAt = new Date(cluster.clock.now()).toISOString();
    const synced = { syncedAt, syncedEpoch: 1, syncedGenerationId: first.generationId };
    await say('node_a', { ...first, role: 'primary', copies: [], fencesAfterSeconds: 30 });
    await say('node_b', { ...first, role: 'replica', ...synced });
    await cluster.clock.pass(5_000);

    await cluster.put(keys.setBack(), { revision: 1_000, restoreEpoch: 0, found: 10, at: AT });
    await cluster.store.revoke(lease);
    await cluster.clock.pass(300_000);
    expect(await status()).to.include({ phase: 'Degraded', primaryNode: 'node_a', epoch: 1 });
    expect((await status()).message).to.contain('that is not declared');

    const restored = await declareRestore(cluster.store, cluster.clock);
    await cluster.clock.pass(20_000);
    const { epoch, lineage = [], ...rest } = await status();
    expect(rest).to.include({ phase: 'Promoting', primaryNode: 'node_b' });
    expect(epoch).to.equal(Math.floor(restored.epoch / 1000) + 1);
    expect(lineage.map(each => each.epoch)).to.deep.equal([1, epoch]);
    expect(lineage[1]!.generationId)
      .to.match(/^[0-9a-f]{16}$/)
      .and.not.equal(first.generationId);
  });
});
