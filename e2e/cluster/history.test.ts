import { expect } from 'chai';

import { sampleCases } from '../../dev/testing/index.js';
import { EtcdCluster } from './etcd-cluster.js';
import { readSharedClock } from './recording-client.js';
import { runStorm } from './storm.js';
import { StoreWorkload } from './workload.js';

const STORM_MS = 10_000;

for (const members of sampleCases(2, [3, 1] as const)) {
  describe(`history of several processes on ${members} etcd member${members === 1 ? '' : 's'}`, function () {
    this.timeout(180_000);
    let cluster: EtcdCluster;

    before(async () => {
      cluster = await EtcdCluster.start({ members });
    });
    after(() => cluster.stop());

    it('is linearizable, exactly once, fenced and told in full through cuts, freezes and lost answers', async () => {
      const seed = Number(process.env['MOORING_TEST_SEED'] ?? 1);
      const logs = process.env['MOORING_TEST_LOGS'] !== undefined;
      const workload = await StoreWorkload.start(cluster, { separate: true, workers: 8, pauseMs: 0, logs });
      const troubles = await runStorm(workload, { seed, ms: STORM_MS });
      await workload.untilResumed(readSharedClock(), 60_000);
      const { violations, operations, unknown } = await workload.judge();
      if (logs) console.log(operations, unknown, troubles);
      expect(violations, `seed ${seed}`).to.deep.equal([]);
      expect(operations).to.be.greaterThan(500);
    });
  });
}
