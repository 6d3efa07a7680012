import type { UnresolvedRecord } from '../../crds/delivery/index.js';
import type { JobStatus, StoredJob } from '../../crds/job/index.js';
import { keys, type ObjectName, ranges } from '../../crds/keys/index.js';
import { parseJobOwner } from '../../crds/replica/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import type { PlacementPolicy } from '../../pkg/fleet/index.js';
import { again, done, type LoopEnv, type Reconcile } from '../../pkg/reconcile/index.js';
import { findRecordFault, readValue, value } from '../../pkg/store/index.js';
import { explainTrouble, findNextLook, parseQueueKey, readWorkload } from '../reading/index.js';
import { buildChange, type StoredJobReading } from './changes.js';
import { decideJob, type JobDecision, type JobInput } from './decide.js';

/**
 * Makes the next step of one job: one transaction, guarded by everything that it was decided on.
 *
 * `decide` is replaced only by simulations, to prove that they detect wrong decisions.
 */
export function runJob({ regions }: PlacementPolicy, decide: typeof decideJob = decideJob): Reconcile {
  return async (key, env) => {
    const owner = parseQueueKey(key);
    const reading = readJob(owner, env, regions);
    if (isHeld(owner, reading, env)) return done;
    const { job, statusEntry } = reading;
    const stored = statusEntry && value<JobStatus>(statusEntry);
    const status = job && stored?.uid === job.metadata.uid ? stored : undefined;
    const input: JobInput = {
      job,
      status,
      records: reading.records,
      obstacle: findObstacle(owner, reading, env),
      now: env.clock.now(),
      newUid: env.random.uuid(),
    };
    const decision = decide(input);
    const change = await buildChange(reading, decision, status, env);
    if (change) {
      failpoint('job.deciding');
      await env.commit(change);
      failpoint('job.decided');
      logDecision(reading, decision, env);
    }
    if (decision.afterMs === undefined) return findNextLook(reading.records, input.now);
    return again(decision.afterMs, 'a job waits for its next step');
  };
}

function readJob(owner: ObjectName, { cache }: LoopEnv, regions: PlacementPolicy['regions']): StoredJobReading {
  const { tenant } = owner;
  const name = parseJobOwner(owner.name) ?? '';
  const jobEntry = cache.get(keys.job(tenant, name));
  return {
    tenant,
    name,
    job: jobEntry && value<StoredJob>(jobEntry),
    jobEntry,
    statusEntry: cache.get(keys.jobStatus(tenant, name)),
    records: readWorkload(owner, cache, regions).replicas,
  };
}

/** An attempt is made once: while something of a job cannot be read, nothing is decided but its removal. */
function isHeld(
  { tenant, name }: ObjectName,
  { job, jobEntry, statusEntry, records }: StoredJobReading,
  { cache }: LoopEnv,
): boolean {
  if (!job || job.metadata.deletedAt) return false;
  const stored = [jobEntry, statusEntry, ...cache.list(ranges.replicasOf(tenant, name))];
  return (
    stored.some(entry => entry && findRecordFault(entry) !== undefined) ||
    records.some(({ reportFault }) => reportFault !== undefined)
  );
}

/** Why an attempt has not started: no node, no secrets, or what its agent says. */
function findObstacle(
  { tenant, name: owner }: ObjectName,
  { job, records }: StoredJobReading,
  { cache, clock }: LoopEnv,
): JobInput['obstacle'] {
  const uid = job?.metadata.uid;
  const scheduling = readValue<SchedulingReport>(cache, keys.scheduling(tenant, owner));
  if (scheduling && scheduling.uid === uid) return { reason: 'unschedulable', message: scheduling.summary };
  const unresolved = readValue<UnresolvedRecord>(cache, keys.unresolved(tenant, owner));
  if (unresolved && unresolved.uid === uid) return { reason: unresolved.reason, message: unresolved.message };
  const now = new Date(clock.now()).toISOString();
  const troubles = records.map(seen => explainTrouble(seen, now));
  return troubles.find(trouble => trouble !== undefined);
}

function logDecision(
  { tenant, name }: StoredJobReading,
  { create, status, remove }: JobDecision,
  { log }: LoopEnv,
): void {
  const about = { tenant, job: name };
  if (create) log.info('attempt of a job made', { ...about, attempt: create.attempt, replica: create.uid });
  else if (remove) log.info('job removed', about);
  else if (status) log.info('job changed', { ...about, phase: status.phase, because: status.message });
}
