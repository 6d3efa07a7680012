import type { Metadata } from '../meta/index.js';
import type { Reason } from '../reasons/index.js';
import type { PlacementSpec, ResourceRequests, SecretReference, VolumeMount } from '../workload/index.js';

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
  /** How often it is tried again after a failure. */
  readonly backoffLimit: number;
  /** How long one attempt may take; for ever when absent. */
  readonly timeoutSeconds?: number;
  /** How long a finished job is kept; when absent, until its tenant has more jobs than its quota allows. */
  readonly ttlSecondsAfterFinished?: number;
  /** Five fields of cron. Judged in a dry run only, as the two below: no loop carries them out. */
  readonly schedule?: string;
  readonly timeZone?: string;
  readonly concurrencyPolicy?: 'Allow' | 'Forbid' | 'Replace';
}

/** `jobs/<tenant>/<name>`. `metadata` is the first key, so that answers can be spliced from the bytes. */
export interface StoredJob extends Job {
  readonly metadata: Metadata;
}

/** `Pending` also between two attempts. */
type JobPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/** One attempt to run a job: one container, started at most once. */
export interface AttemptStatus {
  /** Counted from 0: the number by which its log is read. */
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

/** `job-status/<tenant>/<name>`: written by the job runner, together with every attempt that it makes or ends. */
export interface JobStatus {
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

/** The status of a job that no loop has looked at. */
export function createInitialJobStatus(message = 'waits for the job runner'): Omit<JobStatus, 'uid'> {
  return { phase: 'Pending', message, attempts: 0, history: [] };
}
