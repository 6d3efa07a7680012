import { isFinished, type JobStatus, type StoredJob } from '../../crds/job/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { type Cache, type Entry, readValue, value } from '../store/index.js';

/** A job that has come to its end, with the record of how. */
export interface EndedJob {
  readonly entry: Entry;
  readonly job: StoredJob;
  readonly finishedAt: string;
}

/** Whether a job has come to its end: it starts nothing any more, and counts against no quota of what runs. */
export function isJobEnded(job: StoredJob, cache: Cache): boolean {
  return findEnd(job, cache) !== undefined;
}

/**
 * How many jobs of a tenant are not at their end: of those that were created before a revision, where one is given. One with a
 * schedule has no end and starts nothing itself: its runs are counted.
 */
export function countUnended(cache: Cache, tenant: string, before = Infinity): number {
  const older = cache.list(ranges.of(ranges.jobs, tenant)).filter(({ created }) => created < before);
  const jobs = older.map(entry => value<StoredJob>(entry)).filter(({ schedule }) => schedule === undefined);
  return jobs.filter(job => !isJobEnded(job, cache)).length;
}

/** The jobs of a tenant that have ended and are kept, the one that ended first is the first. */
export function listEndedJobs(cache: Cache, tenant: string): readonly EndedJob[] {
  return cache
    .list(ranges.of(ranges.jobs, tenant))
    .flatMap(entry => {
      const job = value<StoredJob>(entry);
      const end = job.metadata.deletedAt === undefined ? findEnd(job, cache) : undefined;
      return end ? [{ entry, job, finishedAt: end.finishedAt ?? '' }] : [];
    })
    .toSorted((one, other) => (one.finishedAt < other.finishedAt ? -1 : Number(one.finishedAt > other.finishedAt)));
}

/** A status of an earlier job of the same name is not this one's. */
function findEnd({ metadata, name }: StoredJob, cache: Cache): JobStatus | undefined {
  const status = readValue<JobStatus>(cache, keys.jobStatus(metadata.tenant, name));
  return status?.uid === metadata.uid && isFinished(status) ? status : undefined;
}
