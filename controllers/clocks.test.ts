import { expect } from 'chai';

import { keys } from '../crds/keys/index.js';
import type { StoredVolume, VolumeReport, VolumeStatus } from '../crds/volume/index.js';
import type { Clock } from '../pkg/clock/index.js';
import { withWallClock } from '../pkg/clock/manual-clock.testing.js';
import { AT, makeMetadata, TENANT, TestCluster } from './test-cluster.testing.js';

const DAY_MS = 86_400_000;
const ID = `vol_${'1'.repeat(26)}`;

/** What the wall clock of the controllers shows, by the true time. */
const clocks: readonly (readonly [name: string, show: (clock: Clock, begun: number) => number])[] = [
  ['is right', clock => clock.now()],
  ['is a day ahead', clock => clock.now() + DAY_MS],
  ['is a day back', clock => clock.now() - DAY_MS],
  ['stands still', (_clock, begun) => begun],
  [
    'jumps a day ahead and back again every ten seconds',
    clock => clock.now() + (clock.now() % 20_000 < 10_000 ? DAY_MS : 0),
  ],
];

for (const [name, show] of clocks) {
  describe(`controllers whose clock ${name}`, () => {
    let cluster: TestCluster;

    beforeEach(() => {
      cluster = new TestCluster();
      const begun = cluster.clock.now();
      const clock = withWallClock(cluster.clock, () => show(cluster.clock, begun));
      cluster.controllers('one', undefined, undefined, { nodeGraceSeconds: 5, clock });
    });
    afterEach(() => cluster.close());

    const volume: StoredVolume = {
      metadata: makeMetadata(ID),
      id: ID,
      name: 'data',
      class: 'replicated',
      type: 'volume',
      sizeBytes: 2 ** 20,
      accessMode: 'ReadWriteOnce',
      replicas: 1,
    };
    const report = (nodeId: string, change: Partial<VolumeReport>) => {
      const told = { id: ID, state: 'ready', nodeId, epoch: 1, at: AT, ...change };
      return cluster.put(keys.volumeReport(TENANT, ID, nodeId), told);
    };
    const status = () => cluster.get<VolumeStatus>(keys.volumeStatus(TENANT, ID));
    /** Its primary is on node a, and a complete copy on node b. */
    const serve = async () => {
      const [lease] = [await cluster.enrol('a'), await cluster.enrol('b')];
      const copies = [{ nodeId: 'node_b', state: 'synced', syncedAt: AT }] as const;
      const known = { id: ID, phase: 'Ready', reason: 'volume_ready', message: '', primaryNode: 'node_a', epoch: 1 };
      await cluster.put(keys.volumeStatus(TENANT, ID), { ...known, servedEpoch: 1, copies, since: AT });
      await report('node_a', { role: 'primary', copies, fencesAfterSeconds: 30 });
      await report('node_b', { role: 'replica', syncedEpoch: 1, syncedAt: AT });
      await cluster.put(keys.volume(TENANT, ID), volume);
      await cluster.clock.pass(20_000);
      expect(await status()).to.include({ phase: 'Ready' });
      return lease;
    };

    it('promote a copy once the agent of a lost primary has had its time to stop what writes, and not before', async () => {
      await cluster.store.revoke(await serve());
      await cluster.clock.pass(58_000);
      expect(await status()).to.include({ phase: 'Degraded', primaryNode: 'node_a' });
      await cluster.clock.pass(20_000);
      expect(await status()).to.include({ phase: 'Promoting', primaryNode: 'node_b', epoch: 2 });
    });
  });
}
