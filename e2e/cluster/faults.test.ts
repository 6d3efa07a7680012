import { expect } from 'chai';

import { EtcdCluster, TEST_ETCD_ARGUMENTS } from './etcd-cluster.js';
import { runFault } from './fault-run.js';
import { faults, findObstacle } from './faults.js';

const times = { quorumLostMs: 6_000, clientCutMs: 5_000 };

for (const members of [3, 1] as const) {
  describe(`store on ${members} etcd member${members === 1 ? '' : 's'} with TLS`, function () {
    this.timeout(180_000);
    let cluster: EtcdCluster;

    before(async () => {
      cluster = await EtcdCluster.start({ members, arguments: TEST_ETCD_ARGUMENTS });
    });
    after(() => cluster.stop());

    for (const fault of faults.filter(({ members: fewest }) => fewest <= members)) {
      const lacking = findObstacle(fault);
      const title = `keeps every promise: ${fault.name}`;
      if (lacking !== undefined) {
        it.skip(`${title} (${lacking})`);
        continue;
      }
      it(title, async () => {
        const logs = process.env['MOORING_TEST_LOGS'] !== undefined;
        const result = await runFault(cluster, fault, { times, resumeWithinMs: 30_000, calmMs: 1_000, logs });
        if (logs)
          console.log(fault.name, result.operations, result.unknown, result.resumedAfterMs, result.leasesFailed);
        expect(result.violations, 'broken promises').to.deep.equal([]);
        expect(result.leasesFailed, 'leases that were not given after service had resumed').to.equal(0);
      });
    }
  });
}
