import { expect } from 'chai';

import { EtcdCluster, TEST_ETCD_ARGUMENTS } from './etcd-cluster.js';
import { runFault } from './fault-run.js';
import { type ClusterFault, faults } from './faults.js';
import { findObstacle } from './tools.js';

/** How long a majority is gone. One member takes as long to come back after a short time as after a long one. */
const QUORUM_LOST_MS = { 1: 6_000, 3: 30_000 } as const;
const CLIENT_CUT_MS = 5_000;

/** Another etcd than the system's, tested in the same way. */
const other = process.env['MOORING_ETCD_BIN'];

/**
 * Tests the faults of one kind on three members and on one. Each kind is a file of its own, because files run side by side and
 * every fault takes its time.
 */
export function testFaults(about: ClusterFault['about']): void {
  if (other === undefined)
    describe(`store on another etcd, faults of ${about}`, () => {
      it.skip('keeps every promise (set MOORING_ETCD_BIN to the path of an etcd 3.5 or 3.6)');
    });
  for (const program of ['etcd', ...(other === undefined ? [] : [other])])
    for (const members of [3, 1] as const) testFaultsOn(program, members, about);
}

function testFaultsOn(program: string, members: 1 | 3, about: ClusterFault['about']): void {
  describe(`store on ${members} ${program} member${members === 1 ? '' : 's'} with TLS, faults of ${about}`, function () {
    this.timeout(180_000);
    let cluster: EtcdCluster;
    const times = { quorumLostMs: QUORUM_LOST_MS[members], clientCutMs: CLIENT_CUT_MS };

    before(async () => {
      cluster = await EtcdCluster.start({ members, program, arguments: TEST_ETCD_ARGUMENTS });
    });
    after(() => cluster.stop());

    for (const fault of faults.filter(each => each.about === about && each.members <= members && !each.isThorough)) {
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
