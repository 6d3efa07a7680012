import { isDeepStrictEqual } from 'node:util';

import {
  type AttemptStatus,
  createInitialJobStatus,
  isFinished,
  type JobStatus,
  type StoredJob,
} from '../../crds/job/index.js';
import type { Reason } from '../../crds/reasons/index.js';
import { toStoredWorkload } from '../../crds/replica/index.js';
import { backoffMs } from '../../pkg/clock/index.js';
import { isWithoutContainer, type ObservedReplica } from '../reading/index.js';
import { judgeAttempt } from './judge-attempt.js';

/** The wait after an attempt that failed. */
const BACKOFF = { firstMs: 2_000, capMs: 300_000 };
/** Attempts that a status shows. */
const SHOWN = 10;

/** Everything that the next step of one job depends on. */
export interface JobInput {
  /** Undefined when the name has no job any more. */
  readonly job: StoredJob | undefined;
  /** The stored status, when it is of this job. */
  readonly status: JobStatus | undefined;
  /** The records of its attempts, and of those of an earlier job of the name. */
  readonly records: readonly ObservedReplica[];
  /** Why the last attempt has not started, as far as others say. */
  readonly obstacle?: { readonly reason: Reason; readonly message: string } | undefined;
  readonly now: number;
  /** The uid of a new attempt, if one is made. */
  readonly newUid: string;
}

/** What is written for one job, all of it in one transaction. */
export interface JobDecision {
  /** The status to store; undefined when it is stored already, or the job is going. */
  readonly status?: JobStatus;
  /** The attempt to make. */
  readonly create?: AttemptStatus;
  /** Attempts whose containers are to be stopped and removed. */
  readonly retire: readonly ObservedReplica[];
  /** Records of attempts that have no container any more. */
  readonly clear: readonly ObservedReplica[];
  /** Nothing is left of a job that was deleted or has been kept for long enough. */
  readonly remove: boolean;
  /** When to look again, where nothing else would wake the job. */
  readonly afterMs?: number;
}

/**
 * Decides the next step of one job.
 *
 * An attempt is entered in the status in the transaction that makes its record, and its end is stored in the one that has its
 * container removed: an attempt is never made twice, and its container stays until its exit code is kept. The next attempt
 * follows when no record of an earlier one is left, so that no two containers of a job ever run at once.
 */
export function decideJob(input: JobInput): JobDecision {
  const { job, records, now } = input;
  // Its runs are jobs of their own: an attempt of it was made by a release that knows no schedules.
  if (job?.schedule !== undefined) return { ...takeDown(records, job), remove: false };
  if (!job || job.metadata.deletedAt !== undefined) {
    return { ...takeDown(records, job), remove: job !== undefined && records.length === 0 };
  }
  const at = new Date(now).toISOString();
  const before = input.status ?? { uid: job.metadata.uid, ...createInitialJobStatus('') };
  const workload = toStoredWorkload(job);
  const last = before.history.at(-1);
  const seen = last && records.find(({ replica }) => replica.uid === last.uid);
  const judged =
    last &&
    (isEnded(last) ? { ...last, storedAt: notAfter(last.storedAt ?? at, at) } : judgeAttempt(last, seen, workload, at));
  const isOpen = judged !== undefined && !isEnded(judged);
  const going = takeDown(
    records.filter(each => !isOpen || each !== seen),
    job,
  );

  const status = toStatus(before, judged, job, at);
  if (isFinished(status)) return { ...settle(input, status), ...going };
  const dueInMs = status.retryAt === undefined ? 0 : Date.parse(status.retryAt) - now;
  if (isOpen) return { ...store(input, withObstacle(status, judged, seen, input)), ...going, remove: false };
  if (dueInMs > 0) return { ...store(input, status), ...going, remove: false, afterMs: dueInMs };
  if (records.length > 0) return { ...store(input, status), ...going, remove: false };

  const create: AttemptStatus = { attempt: status.attempts + 1, uid: input.newUid, state: 'Pending' };
  const { retryAt: _, exitCode: _of, ...rest } = status;
  const history = [...status.history, create].slice(-SHOWN);
  const message = `attempt ${create.attempt} of ${job.backoffLimit + 1} waits for a node`;
  const next: JobStatus = { ...rest, attempts: status.attempts + 1, history, message };
  return { status: next, create, ...going, remove: false };
}

function isEnded({ state }: AttemptStatus): boolean {
  return state === 'Succeeded' || state === 'Failed';
}

/** A time that a leader has stored whose clock was ahead counts as now: no wait is longer than configured. */
function notAfter(time: string, now: string): string {
  return Date.parse(time) > Date.parse(now) ? now : time;
}

function takeDown(
  records: readonly ObservedReplica[],
  job: StoredJob | undefined,
): Pick<JobDecision, 'retire' | 'clear'> {
  const workload = job && toStoredWorkload(job);
  const clear = records.filter(seen => isWithoutContainer(seen, workload));
  return { clear, retire: records.filter(seen => !clear.includes(seen) && !seen.replica.retiringSince) };
}

/** The status that follows from what became of the last attempt. */
function toStatus(before: JobStatus, last: AttemptStatus | undefined, job: StoredJob, at: string): JobStatus {
  if (isFinished(before)) return { ...before, finishedAt: notAfter(before.finishedAt ?? at, at) };
  if (!last) return before;
  const history = [...before.history.slice(0, -1), last];
  const startedAt = before.startedAt ?? last.startedAt;
  const { reason: _r, exitCode: _e, ...kept } = before;
  const status = { ...kept, history, ...(startedAt !== undefined && { startedAt }) };
  const count = `attempt ${last.attempt} of ${job.backoffLimit + 1}`;
  const where = last.nodeName ?? 'its node';
  if (last.state === 'Running') return { ...status, phase: 'Running', message: `${count} runs on ${where}` };
  if (last.state === 'Pending') return { ...status, phase: 'Pending', message: `${count} waits to be started` };

  const ended = { ...status, ...(last.exitCode !== undefined && { exitCode: last.exitCode }) };
  if (last.state === 'Succeeded') {
    return { ...ended, phase: 'Succeeded', reason: 'succeeded', message: `${count} succeeded`, finishedAt: at };
  }
  if (status.attempts > job.backoffLimit) {
    const failures =
      status.attempts === 1 ? 'its only attempt failed' : `all ${status.attempts} attempts failed, the last one`;
    const message = `${failures}: ${last.message}`;
    return { ...ended, phase: 'Failed', reason: 'backoff_limit_reached', message, finishedAt: at };
  }
  const retryAt = new Date(Date.parse(last.storedAt ?? at) + backoffMs(status.attempts, BACKOFF)).toISOString();
  const message = `${count} failed: ${last.message}`;
  return { ...ended, phase: 'Pending', message, retryAt, ...(last.reason && { reason: last.reason }) };
}

/** What others say of an attempt that has not started, or of which it is unknown whether it still runs. */
function withObstacle(
  status: JobStatus,
  attempt: AttemptStatus,
  seen: ObservedReplica | undefined,
  { obstacle }: JobInput,
): JobStatus {
  const isUnseen = attempt.state === 'Pending' || seen?.node !== 'well';
  return isUnseen && obstacle ? { ...status, ...obstacle } : status;
}

/** A job at its end: kept for as long as it says, and removed when no record of an attempt is left. */
function settle({ job, records, now, ...input }: JobInput, status: JobStatus) {
  const { ttlSecondsAfterFinished: ttl } = job!;
  const stored = store(input, status);
  if (ttl === undefined) return { ...stored, remove: false };
  const leftMs = Date.parse(status.finishedAt ?? '') + ttl * 1000 - now;
  if (leftMs > 0) return { ...stored, remove: false, afterMs: leftMs };
  return { ...stored, remove: records.length === 0 && stored.status === undefined };
}

function store({ status: stored }: Pick<JobInput, 'status'>, status: JobStatus): Pick<JobDecision, 'status'> {
  return isDeepStrictEqual(stored, status) ? {} : { status };
}
