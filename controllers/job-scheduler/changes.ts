import { createTypedId } from '../../crds/grammar/index.js';
import { markDeleted, type StoredJob, toJobSpec, toRunSpec } from '../../crds/job/index.js';
import { keys } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Entry, type Guard } from '../../pkg/store/index.js';
import type { ObservedRun, RunsDecision } from './decide.js';

/** A run together with its record. */
export interface StoredRun extends ObservedRun {
  readonly job: StoredJob;
  readonly entry: Entry;
}

/** A job with a schedule as it is stored. */
export interface StoredSchedule {
  readonly job: StoredJob;
  readonly jobEntry: Entry;
  readonly statusEntry: Entry | undefined;
}

/**
 * The one change of a decision, guarded by the job and its status: every run is made together with a status, so no tick that
 * was settled meanwhile is settled again. Undefined when nothing is to be written.
 */
export async function buildRunsChange(
  { job, jobEntry, statusEntry }: StoredSchedule,
  decision: RunsDecision<StoredRun>,
  env: LoopEnv,
): Promise<Change | undefined> {
  const { status, create, remove, isGone } = decision;
  if (!status && !create && remove.length === 0 && !isGone) return undefined;
  const { tenant } = job.metadata;
  const statusKey = keys.jobStatus(tenant, job.name);
  const drafts = draftEvents(job, decision);
  const deletion = buildDeletion(remove, env);
  return {
    guards: [
      { key: jobEntry.key, at: jobEntry.revision },
      { key: statusKey, at: statusEntry?.revision ?? 0 },
      ...(create ? [{ key: keys.job(tenant, create.name), at: 0 }] : []),
      ...deletion.guards,
    ],
    puts: [
      ...(status ? [{ key: statusKey, bytes: encode(status) }] : []),
      ...(create ? [{ key: keys.job(tenant, create.name), bytes: encode(toRun(job, create, env)) }] : []),
      ...deletion.puts,
      ...(await Promise.all(drafts.map(draft => env.events.put(draft)))),
    ],
    deletes: isGone ? [jobEntry.key, statusKey] : [],
  };
}

/** Asks for the deletion of runs, as their users would: the job runner carries it out. */
export function buildDeletion(
  runs: readonly StoredRun[],
  { clock }: LoopEnv,
): Pick<Change, 'puts'> & { readonly guards: readonly Guard[] } {
  const deletedAt = new Date(clock.now()).toISOString();
  return {
    guards: runs.map(({ entry }) => ({ key: entry.key, at: entry.revision })),
    puts: runs.map(({ job, entry }) => ({ key: entry.key, bytes: encode(markDeleted(job, deletedAt)) })),
  };
}

function toRun(
  job: StoredJob,
  { name, scheduledAt }: NonNullable<RunsDecision['create']>,
  { clock, random }: LoopEnv,
): StoredJob {
  const spec = toRunSpec(toJobSpec(job), name);
  const now = new Date(clock.now()).toISOString();
  return {
    metadata: {
      tenant: job.metadata.tenant,
      uid: createTypedId('job', count => random.bytes(count)),
      generation: 1,
      createdAt: now,
      updatedAt: now,
      specHash: hashSpec(spec),
      owner: { name: job.name, uid: job.metadata.uid },
      scheduledAt,
    },
    ...spec,
  };
}

/** The events of a change, the oldest tick first. */
function draftEvents(
  { metadata, name }: StoredJob,
  { create, leftOut, replaced }: RunsDecision,
): readonly EventDraft[] {
  const common = { tenant: metadata.tenant, subject: { kind: 'Job', name, id: metadata.uid } } as const;
  return [
    ...leftOut.map(
      ({ count, at, reason, message }): EventDraft => ({
        ...common,
        type: reason === 'runs_missed' ? 'job.run_missed' : 'job.run_skipped',
        severity: 'warning',
        reason,
        message,
        data: { count, lastAt: at },
      }),
    ),
    ...replaced.map(
      (run): EventDraft => ({
        ...common,
        type: 'job.run_replaced',
        reason: 'run_replaced',
        message: `The run ${run.name} is deleted: the next one is due, and concurrencyPolicy is Replace.`,
        data: { run: run.name },
      }),
    ),
    ...(create
      ? [
          {
            ...common,
            type: 'job.run_created',
            reason: 'run_created',
            message: `The run ${create.name} was created for the tick of ${create.scheduledAt}.`,
            data: { run: create.name, scheduledAt: create.scheduledAt },
          } as const,
        ]
      : []),
  ];
}
