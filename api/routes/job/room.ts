import { type Job, markDeleted, type StoredJob } from '../../../crds/job/index.js';
import { ranges } from '../../../crds/keys/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import { type EndedJob, listEndedJobs } from '../../../pkg/fleet/index.js';
import { encode, type Guard, type Put, value } from '../../../pkg/store/index.js';
import type { QuotaEnv } from '../../admission/env.js';
import { readQuotas } from '../../admission/quota.js';
import type { CachedEnv } from '../../write/write.js';

/** Jobs that one request removes at most, and their bytes, of which the first may have more: one write has to hold them. */
const REMOVED_MAX = 10;
const REMOVED_BYTES_MAX = 512 * 1024;

/** What a new job is stored with, so that the records of its tenant stay within the quota. */
export interface JobRoom {
  readonly guards: readonly Guard[];
  readonly puts: readonly Put[];
  readonly warnings: readonly Warning[];
}

/**
 * Makes room for one job more: the jobs that ended first are marked as deleted where the tenant has as many records as its quota
 * allows. Those that have not ended stay; what is then beyond the quota waits. Jobs with a schedule and their runs take no part:
 * the job scheduler keeps few of them.
 */
export function makeRoom(env: CachedEnv<QuotaEnv>, tenant: string, spec: Job, now: string): JobRoom {
  const { cache } = env;
  const none: JobRoom = { guards: [], puts: [], warnings: [] };
  const { jobs: limit = Infinity } = readQuotas(env, tenant);
  const stored = cache.list(ranges.of(ranges.jobs, tenant));
  if (spec.schedule !== undefined || stored.length < limit) return none;
  const kept = stored.map(entry => value<StoredJob>(entry)).filter(job => !job.metadata.deletedAt && takesPart(job));
  const ended = listEndedJobs(cache, tenant).filter(({ job }) => takesPart(job));
  const removed = takeWithinBytes(ended.slice(0, Math.min(Math.max(0, kept.length + 1 - limit), REMOVED_MAX)));
  const names = removed.map(({ job }) => job.name).join(', ');
  const message = `the quota of jobs is ${limit}, and those that have ended make room: ${names} is removed; set ttlSecondsAfterFinished, or raise the quota`;
  return {
    guards: removed.map(({ entry: { key, revision: at } }) => ({ key, at })),
    puts: removed.map(({ entry: { key }, job }) => ({ key, bytes: encode(markDeleted(job, now)) })),
    warnings: removed.length === 0 ? [] : [{ code: 'quota_reached', field: 'name', message }],
  };
}

function takesPart({ schedule, metadata }: StoredJob): boolean {
  return schedule === undefined && metadata.owner === undefined;
}

function takeWithinBytes(jobs: readonly EndedJob[]): readonly EndedJob[] {
  let bytes = 0;
  return jobs.filter(({ entry }, place) => (bytes += entry.bytes.length) <= REMOVED_BYTES_MAX || place === 0);
}
