import { type AttemptStatus, isFinished, type JobStatus, type StoredJob } from '../../crds/job/index.js';
import { keys } from '../../crds/keys/index.js';
import {
  computeTemplateHash,
  formatJobOwner,
  type Replica,
  toContainerTemplate,
  toStoredWorkload,
} from '../../crds/replica/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Entry, type Guard } from '../../pkg/store/index.js';
import { isJoined } from '../../pkg/trace/index.js';
import type { ObservedReplica } from '../reading/index.js';
import type { JobDecision } from './decide.js';

/** A job as it is stored, with what its next step is written against. */
export interface StoredJobReading {
  readonly tenant: string;
  readonly name: string;
  readonly job: StoredJob | undefined;
  readonly jobEntry: Entry | undefined;
  readonly statusEntry: Entry | undefined;
  readonly records: readonly ObservedReplica[];
}

/** The one change of a decision, guarded by everything that it was decided on. Undefined when nothing is to be written. */
export async function buildChange(
  reading: StoredJobReading,
  decision: JobDecision,
  before: JobStatus | undefined,
  env: LoopEnv,
): Promise<Change | undefined> {
  const { tenant, name, job, jobEntry, statusEntry, records } = reading;
  const { status, create, retire, clear, remove } = decision;
  const [jobKey, statusKey] = [keys.job(tenant, name), keys.jobStatus(tenant, name)];
  const isOrphaned = job === undefined && statusEntry !== undefined;
  if (!status && !create && retire.length + clear.length === 0 && !remove && !isOrphaned) return undefined;

  const now = new Date(env.clock.now()).toISOString();
  const drafts = job && status ? draftEvents(job, before, status) : [];
  return {
    guards: [
      { key: jobKey, at: jobEntry?.revision ?? 0 },
      { key: statusKey, at: statusEntry?.revision ?? 0 },
      ...(create ? [{ key: toKey(tenant, name, create.attempt), at: 0 }] : []),
      ...[...retire, ...clear].flatMap(seen => guardRecord(seen, name)),
      ...(status && !create ? records.flatMap(seen => guardReport(seen, env)) : []),
    ],
    puts: [
      ...(status ? [{ key: statusKey, bytes: encode(status) }] : []),
      ...(create ? [{ key: toKey(tenant, name, create.attempt), bytes: encode(toAttempt(job!, create, now)) }] : []),
      ...retire.map(({ replica }) => ({
        key: toKey(tenant, name, replica.slot),
        bytes: encode({ ...replica, retiringSince: now }),
      })),
      ...(await Promise.all(drafts.map(draft => env.events.put(draft)))),
    ],
    deletes: [
      ...clear.flatMap(({ replica }) => [
        toKey(tenant, name, replica.slot),
        ...(replica.nodeId === undefined ? [] : [keys.report(tenant, replica.nodeId, replica.uid)]),
      ]),
      ...(remove ? [jobKey, keys.scheduling(tenant, formatJobOwner(name))] : []),
      ...(remove || isOrphaned ? [statusKey] : []),
    ],
  };
}

function toKey(tenant: string, name: string, attempt: number): string {
  return keys.replica(tenant, formatJobOwner(name), attempt);
}

/** A record on a lost node is cleared only while the node is still lost: an agent that has returned manages it again. */
function guardRecord({ replica, revision, lost }: ObservedReplica, name: string): readonly Guard[] {
  return [{ key: toKey(replica.tenant, name, replica.slot), at: revision }, ...(lost ? [lost.still] : [])];
}

/** An end that was reported meanwhile is never overlooked. */
function guardReport({ replica }: ObservedReplica, { cache }: LoopEnv): readonly Guard[] {
  if (replica.nodeId === undefined) return [];
  const key = keys.report(replica.tenant, replica.nodeId, replica.uid);
  return [{ key, at: cache.get(key)?.revision ?? 0 }];
}

function toAttempt(job: StoredJob, { attempt, uid }: AttemptStatus, createdAt: string): Replica {
  const workload = toStoredWorkload(job);
  const { timeoutSeconds, metadata } = job;
  const { traceparent, updatedAt } = metadata;
  const isTraced = traceparent !== undefined && isJoined(updatedAt, Date.parse(createdAt));
  return {
    uid,
    tenant: job.metadata.tenant,
    deployment: workload.name,
    deploymentUid: job.metadata.uid,
    slot: attempt,
    generation: job.metadata.generation,
    templateHash: computeTemplateHash(workload),
    template: toContainerTemplate(workload),
    createdAt,
    ...(isTraced && { traceparent }),
    once: { ...(timeoutSeconds !== undefined && { timeoutSeconds }) },
  };
}

/** The events of a change: the first start of a job, an attempt that failed, and its end. */
function draftEvents(
  { metadata, name }: StoredJob,
  before: JobStatus | undefined,
  status: JobStatus,
): readonly EventDraft[] {
  const { phase, message, attempts, exitCode, startedAt } = status;
  const common = { tenant: metadata.tenant, subject: { kind: 'Job', name, id: metadata.uid } } as const;
  const last = status.history.at(-1);
  const { nodeId, nodeName } = last ?? {};
  const isNew = (holds: (each: JobStatus) => boolean) => holds(status) && !(before && holds(before));
  return [
    ...(isNew(each => each.startedAt !== undefined)
      ? [
          {
            ...common,
            type: 'job.started',
            reason: 'started',
            message: `The job has started on ${nodeName ?? 'its node'}.`,
            data: { startedAt, ...(nodeId !== undefined && { nodeId }) },
          } as const,
        ]
      : []),
    ...(last && isNew(({ history }) => history.some(each => each.uid === last.uid && each.state === 'Failed'))
      ? [
          {
            ...common,
            type: 'job.attempt_failed',
            reason: last.reason ?? 'container_exited',
            severity: 'warning',
            message: `attempt ${last.attempt} failed: ${last.message ?? 'nothing more is known of it'}`,
            data: {
              attempt: last.attempt,
              ...(last.exitCode !== undefined && { exitCode: last.exitCode }),
              ...(nodeId !== undefined && { nodeId }),
            },
          } as const,
        ]
      : []),
    ...(isNew(isFinished)
      ? [
          {
            ...common,
            type: phase === 'Succeeded' ? 'job.succeeded' : 'job.failed',
            reason: phase === 'Succeeded' ? 'succeeded' : 'backoff_limit_reached',
            ...(phase === 'Failed' && { severity: 'warning' as const }),
            message,
            data: { attempts, ...(exitCode !== undefined && { exitCode }) },
          } as const,
        ]
      : []),
  ];
}
