import type { Metadata } from '../meta/index.js';
import type { Reason } from '../reasons/index.js';
import type { PlacementSpec, ResourceRequests, SecretReference, VolumeMount } from '../workload/index.js';

/** Whether an attempt that failed is followed by another. */
export type RestartPolicy = 'Never' | 'OnFailure';

/** Work that ends, after admission. */
export interface Job {
  readonly kind: 'Job';
  readonly name: string;
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  /** Always the id. */
  readonly nodeId?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly SecretReference[];
  readonly composedSecrets?: Readonly<Record<string, string>>;
  readonly volumes?: readonly VolumeMount[];
  /** Names of networks to join in the place of the tenant's own. */
  readonly networks?: readonly string[];
  readonly resources?: ResourceRequests;
  readonly placement?: PlacementSpec;
  /** `user` or `user:group`, by id or by name of the image; absent: the image's own. */
  readonly user?: string;
  readonly readOnlyRootFilesystem?: boolean;
  /** `Never`: a failed attempt is the end of the job, and `backoffLimit` is 0. */
  readonly restartPolicy?: RestartPolicy;
  /** How often it is tried again after a failure. */
  readonly backoffLimit: number;
  /** How long one attempt may take; for ever when absent. */
  readonly timeoutSeconds?: number;
  /** How long a finished job is kept, or each run of one with a schedule; when absent, until its tenant has more jobs than its quota allows. */
  readonly ttlSecondsAfterFinished?: number;
  /** When to run, in fields of cron. The job itself then runs nothing: a job of its own is made for every tick. */
  readonly schedule?: string;
  /** With a schedule always there, as what follows. */
  readonly timeZone?: string;
  /** What becomes of a tick while an earlier run has not ended. */
  readonly concurrencyPolicy?: 'Allow' | 'Forbid' | 'Replace';
}

/** What a run of a schedule has beside what every object has. */
export interface JobMetadata extends Metadata {
  /** The job whose schedule made it. */
  readonly owner?: { readonly name: string; readonly uid: string };
  /** The tick that it was made for. */
  readonly scheduledAt?: string;
}

/** `jobs/<tenant>/<name>`. `metadata` is the first key, so that answers can be spliced from the bytes. */
export interface StoredJob extends Job {
  readonly metadata: JobMetadata;
}

/** `Pending` also between two attempts. `Scheduled`: it has a schedule, and runs nothing itself. */
type JobPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Scheduled';

/** One attempt to run a job: one container, started at most once. */
export interface AttemptStatus {
  /** Counted from 1, as people do: the number by which its log is read. */
  readonly attempt: number;
  /** The uid of its replica: no other attempt ever has it. */
  readonly uid: string;
  readonly state: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly nodeId?: string;
  readonly nodeName?: string;
  /** Absent when its container never ran, or how it ended cannot be known any more. */
  readonly exitCode?: number;
  /** Why it failed: one word for programs, and cause and remedy for people. */
  readonly reason?: Reason;
  readonly message?: string;
  /** By the clock of its node. */
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /** When the job runner stored its end: what the back-off counts from. */
  readonly storedAt?: string;
}

/** One run of a schedule, as its job shows it. */
export interface RunStatus {
  /** The name of its job. */
  readonly name: string;
  readonly scheduledAt: string;
  /** `Deleted`: something else has deleted it before its end was seen. */
  readonly phase: JobPhase | 'Deleted';
  readonly exitCode?: number;
  readonly finishedAt?: string;
}

/** What the status of a job with a schedule has beside what every job has. */
export interface ScheduleStatus {
  /** Every tick until then was run, skipped or missed: none of them is looked at again. */
  readonly settledUntil: string;
  /** The tick of the last run. */
  readonly lastScheduledAt?: string;
  readonly nextRunAt?: string;
  /** The names of the runs that have not ended. */
  readonly active: readonly string[];
  /** The last run, also when it is not kept any more. */
  readonly lastRun?: RunStatus;
  /** The runs that are there, the newest last. */
  readonly runs: readonly RunStatus[];
  /** Ticks that had no run, since the job was created. */
  readonly missed?: { readonly count: number; readonly lastAt: string; readonly reason: Reason };
}

/**
 * `job-status/<tenant>/<name>`: written by the job runner, together with every attempt that it makes or ends; of a job with a
 * schedule by the job scheduler, together with every run.
 */
export interface JobStatus extends Partial<ScheduleStatus> {
  readonly uid: string;
  readonly phase: JobPhase;
  readonly message: string;
  readonly reason?: Reason;
  /** How many attempts have been made. */
  readonly attempts: number;
  /** Of the last attempt, once it has ended and where its end is known. */
  readonly exitCode?: number;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /** When the next attempt follows, after one that failed. */
  readonly retryAt?: string;
  /** The last attempts, the newest last. */
  readonly history: readonly AttemptStatus[];
}

/** Whether the job has come to its end. */
export function isFinished({ phase }: Pick<JobStatus, 'phase'>): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** What was asked for, without what the server keeps about it. */
export function toJobSpec(stored: StoredJob): Job {
  const { metadata: _, ...spec } = stored;
  return spec;
}

/** The record of a job that is to be removed as soon as its container is gone. That is part of `trace`, not of the job's own. */
export function markDeleted(job: StoredJob, deletedAt: string, trace?: Pick<Metadata, 'traceparent'>): StoredJob {
  const { traceparent: _, ...metadata } = job.metadata;
  return { ...job, metadata: { ...metadata, updatedAt: deletedAt, deletedAt, ...trace } };
}

/** What a run of a schedule is asked to do. How long it is kept is for the job scheduler, which has to see its end. */
export function toRunSpec(job: Job, name: string): Job {
  const { schedule: _s, timeZone: _z, concurrencyPolicy: _c, ttlSecondsAfterFinished: _t, ...spec } = job;
  return { ...spec, name };
}

/** The status of a job that no loop has looked at. */
export function createInitialJobStatus(message = 'waits for the controllers'): Omit<JobStatus, 'uid'> {
  return { phase: 'Pending', message, attempts: 0, history: [] };
}
