import type { JobStatus, StoredJob } from '../../crds/job/index.js';
import { keys, type ObjectName } from '../../crds/keys/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import { again, done, type LoopEnv, type Reconcile } from '../../pkg/reconcile/index.js';
import { type Cache, type Entry, findRecordFault, value } from '../../pkg/store/index.js';
import { parseQueueKey, RUNS } from '../reading/index.js';
import { buildRunsChange, buildDeletion, type StoredRun, type StoredSchedule } from './changes.js';
import { decideRuns, type RunsDecision, type RunsInput } from './decide.js';

/**
 * Makes the next step of one job with a schedule: one transaction, guarded by everything that it was decided on.
 *
 * `decide` is replaced only by simulations, to prove that they detect wrong decisions.
 */
export function runSchedule(deadlineSeconds: number, decide: typeof decideRuns = decideRuns): Reconcile {
  return async (key, env) => {
    const owner = parseQueueKey(key);
    const { cache, clock } = env;
    const runs = readRuns(owner, cache);
    const jobEntry = cache.get(keys.job(owner.tenant, owner.name));
    const job = jobEntry && value<StoredJob>(jobEntry);
    if (isHeld(job, jobEntry)) return done;
    const isOwn = (run: StoredRun) => run.job.metadata.owner?.uid === job?.metadata.uid;
    await removeOrphans(
      runs.filter(run => !isOwn(run)),
      env,
    );
    if (!jobEntry || job?.schedule === undefined) return done;

    const statusEntry = cache.get(keys.jobStatus(owner.tenant, owner.name));
    if (isHeld(job, statusEntry)) return done;
    const stored = statusEntry && value<JobStatus>(statusEntry);
    const input: RunsInput<StoredRun> = {
      job,
      status: stored?.uid === job.metadata.uid ? stored : undefined,
      runs: runs.filter(isOwn),
      isTaken: name => cache.get(keys.job(owner.tenant, name)) !== undefined,
      now: clock.now(),
      deadlineMs: deadlineSeconds * 1000,
    };
    const decision = decide(input);
    const schedule = { job, jobEntry, statusEntry };
    const change = await buildRunsChange(schedule, decision, env);
    if (change) {
      failpoint('schedule.deciding');
      await env.commit(change);
      failpoint('schedule.decided');
      logDecision(schedule, decision, env);
    }
    return decision.afterMs === undefined ? done : again(decision.afterMs, 'a job waits for its next tick');
  };
}

/** A tick is settled once: while the job or its status cannot be read, nothing is decided but its removal. */
function isHeld(job: StoredJob | undefined, entry: Entry | undefined): boolean {
  return entry !== undefined && findRecordFault(entry) !== undefined && !job?.metadata.deletedAt;
}

/** Every run that names this job as its owner, be it of an earlier job of the name. */
function readRuns({ tenant, name }: ObjectName, cache: Cache): readonly StoredRun[] {
  return cache.by(RUNS, `${tenant}/${name}`).map(entry => {
    const job = value<StoredJob>(entry);
    const statusEntry = cache.get(keys.jobStatus(tenant, job.name));
    const status =
      statusEntry && findRecordFault(statusEntry) === undefined ? value<JobStatus>(statusEntry) : undefined;
    const { uid, createdAt, scheduledAt = createdAt, deletedAt } = job.metadata;
    return {
      name: job.name,
      scheduledAt,
      status: status?.uid === uid ? status : undefined,
      isGoing: deletedAt !== undefined,
      job,
      entry,
    };
  });
}

/** Runs whose job is no more, which only another hand than the loops can have removed. */
async function removeOrphans(runs: readonly StoredRun[], env: LoopEnv): Promise<void> {
  for (const run of runs.filter(({ isGoing }) => !isGoing)) {
    await env.commit({ ...buildDeletion([run], env), deletes: [] });
    env.log.info('run of a job that is no more deleted', { tenant: run.job.metadata.tenant, job: run.name });
  }
}

function logDecision({ job }: StoredSchedule, { create, leftOut, isGone }: RunsDecision, { log }: LoopEnv): void {
  const about = { tenant: job.metadata.tenant, job: job.name };
  if (create) log.info('run of a job created', { ...about, because: create.name });
  for (const { message } of leftOut) log.info('ticks of a job left out', { ...about, because: message });
  if (isGone) log.info('job removed', about);
}
