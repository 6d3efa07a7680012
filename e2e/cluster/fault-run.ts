import { setTimeout as pause } from 'node:timers/promises';

import { measureResume, measureWriteGap } from '../history/index.js';
import type { EtcdCluster } from './etcd-cluster.js';
import type { ClusterFault, FaultTimes } from './faults.js';
import { readSharedClock } from './recording-client.js';
import { StoreWorkload, type WorkloadOutcome, type WorkloadOptions } from './workload.js';

export interface FaultRunOptions extends WorkloadOptions {
  readonly times: FaultTimes;
  /** How long service may take to resume. */
  readonly resumeWithinMs: number;
  /** How long the clients work undisturbed before the fault, after service has resumed, and after the fault was healed. */
  readonly calmMs: number;
}

export interface FaultRunResult extends WorkloadOutcome {
  /**
   * Milliseconds from the moment at which service could resume until every kind of it had; where it never had to end, at
   * least the longest time without a stored write.
   */
  readonly resumedAfterMs: number;
  /** Of the leases that were asked for after service had resumed and before the fault was healed, those that were not given. */
  readonly leasesFailed: number;
}

/** Lets clients work, makes a fault happen, waits for service to resume, repairs the fault, and checks the history. */
export async function runFault(
  cluster: EtcdCluster,
  fault: ClusterFault,
  options: FaultRunOptions,
): Promise<FaultRunResult> {
  const { times, calmMs, resumeWithinMs } = options;
  const workload = await StoreWorkload.start(cluster, options);
  try {
    await pause(calmMs);
    const begun = readSharedClock();
    const since = await fault.inject(workload, times);
    await workload.untilResumed(since, resumeWithinMs);
    const resumed = readSharedClock();
    await pause(calmMs);
    const healedAt = readSharedClock();
    await cluster.heal();
    await workload.untilResumed(readSharedClock(), resumeWithinMs);
    await pause(calmMs);
    const outcome = await workload.judge();
    const leasesFailed = outcome.records.filter(
      record => record.kind === 'lease' && !record.isGranted && record.begin > resumed && record.end < healedAt,
    ).length;
    const resumedAfterMs = measureResume(outcome.records, since);
    const gapMs = fault.isServedThroughout ? measureWriteGap(outcome.records, begun, resumed) : 0;
    return { ...outcome, leasesFailed, resumedAfterMs: Math.max(resumedAfterMs, gapMs) };
  } catch (thrown) {
    await cluster.heal().catch(() => undefined); // the first failure is the one to tell
    await workload.judge().catch(() => undefined); // ends the clients
    throw thrown;
  }
}
