import { isDeepStrictEqual } from 'node:util';

import {
  formatRunName,
  isFinished,
  type JobStatus,
  parseSchedule,
  type RunStatus,
  type ScheduleStatus,
  type StoredJob,
} from '../../crds/job/index.js';
import type { Reason } from '../../crds/reasons/index.js';
import { findDue, type SkippedTicks } from './due.js';

/** Finished runs that are kept, as Kubernetes does. */
const KEPT = { Succeeded: 3, Failed: 1 } as const;
/** Runs of one job that have not ended, whatever its policy: they would grow without end where nothing runs. */
const ACTIVE_MAX = 50;
/** Records of runs that one step deletes: a transaction has a size. */
const DELETED_AT_ONCE = 4;
/** The longest wait: a clock that was set is noticed by then. */
const LOOK_AGAIN_MS = 300_000;

/** One run of a job with a schedule. */
export interface ObservedRun {
  readonly name: string;
  readonly scheduledAt: string;
  /** Undefined while nothing is known of it, or it cannot be read: it then counts as one that has not ended. */
  readonly status: JobStatus | undefined;
  /** Its deletion was asked for. */
  readonly isGoing: boolean;
}

/** Everything that the next step of one job with a schedule depends on. */
export interface RunsInput<Run extends ObservedRun = ObservedRun> {
  readonly job: StoredJob;
  /** The stored status, when it is of this job. */
  readonly status: JobStatus | undefined;
  readonly runs: readonly Run[];
  /** Whether some job has a name. */
  readonly isTaken: (name: string) => boolean;
  readonly now: number;
  /** How late a run may still begin. */
  readonly deadlineMs: number;
}

/** What is written for one job with a schedule, all of it in one transaction. */
export interface RunsDecision<Run extends ObservedRun = ObservedRun> {
  /** The status to store; undefined when it is stored already, or the job is going. */
  readonly status?: JobStatus;
  /** The run to make. */
  readonly create?: { readonly name: string; readonly scheduledAt: string };
  readonly leftOut: readonly SkippedTicks[];
  /** Runs to delete, and those of them that make place for another one. */
  readonly remove: readonly Run[];
  readonly replaced: readonly Run[];
  /** Nothing is left of a job that was deleted. */
  readonly isGone: boolean;
  /** When to look again, where nothing else would wake the job. */
  readonly afterMs?: number;
}

const nothing = { leftOut: [], remove: [], replaced: [], isGone: false } as const;

/**
 * Decides the next step of one job with a schedule.
 *
 * A run is entered in the status in the transaction that makes it, together with the tick until which all is settled: a tick is
 * never looked at twice. Of several that came due meanwhile, the last one is run.
 */
export function decideRuns<Run extends ObservedRun>(input: RunsInput<Run>): RunsDecision<Run> {
  const { job, runs, now } = input;
  if (job.metadata.deletedAt !== undefined) {
    return { ...nothing, remove: chooseRemoved(runs), isGone: runs.length === 0 };
  }
  const ticks = parseSchedule(job.schedule ?? '', job.timeZone ?? '');
  if (!ticks) return { ...nothing, ...store(input, toUnusable(input)) };

  const before = toScheduleStatus(input);
  const due = findDue(ticks, Date.parse(before.settledUntil), now, input.deadlineMs);
  const { create, skipped, replaced } = settle(input, due.run);
  const waiting = replaced.length > 0 ? due.run : undefined;
  const leftOut = [...due.missed, ...skipped];
  const last = due.last === undefined ? undefined : toTime(due.last);
  const settledUntil = (waiting === undefined ? last : due.missed.at(-1)?.at) ?? before.settledUntil;

  const next = ticks.findNext(Math.max(Date.parse(settledUntil), now));
  const status = describe(input, { ...before, settledUntil }, { create, leftOut, next, waiting });
  const outdated = listOutdated(job, runs, now);
  const waits = [next, ...outdated.later].flatMap(time => (time === undefined ? [] : [time - now]));
  return {
    ...nothing,
    ...store(input, status),
    ...(create && { create }),
    leftOut,
    replaced: chooseRemoved(replaced),
    remove: chooseRemoved([...replaced, ...outdated.now]),
    afterMs: Math.min(LOOK_AGAIN_MS, ...waits),
  };
}

/** What becomes of the tick that is due: a run, none, or one as soon as those are gone that it replaces. */
function settle<Run extends ObservedRun>(
  { job, runs, isTaken }: RunsInput<Run>,
  tick: number | undefined,
): Pick<RunsDecision<Run>, 'create' | 'replaced'> & { readonly skipped: readonly SkippedTicks[] } {
  if (tick === undefined) return { skipped: [], replaced: [] };
  const name = formatRunName(job.name, tick);
  const scheduledAt = toTime(tick);
  const skip = (reason: Reason, why: string) => ({
    skipped: [{ count: 1, at: scheduledAt, reason, message: `The tick of ${scheduledAt} was skipped: ${why}.` }],
    replaced: [],
  });
  // The store was restored, and the run is older than the status.
  if (runs.some(run => run.name === name)) return { skipped: [], replaced: [] };
  if (isTaken(name)) return skip('run_name_taken', `another job is called ${name}`);
  const active = runs.filter(isActive);
  if (active.length > 0 && job.concurrencyPolicy === 'Forbid')
    return skip('run_still_active', `${active[0]!.name} has not ended, and concurrencyPolicy is Forbid`);
  if (active.length > 0 && job.concurrencyPolicy === 'Replace') return { skipped: [], replaced: active };
  if (active.length >= ACTIVE_MAX) return skip('run_limit_reached', `${active.length} runs have not ended`);
  return { create: { name, scheduledAt }, skipped: [], replaced: [] };
}

function isActive({ status }: ObservedRun): boolean {
  return !status || !isFinished(status);
}

/** Those that are not deleted already, as many as one step takes. */
function chooseRemoved<Run extends ObservedRun>(runs: readonly Run[]): readonly Run[] {
  return runs.filter(({ isGoing }) => !isGoing).slice(0, DELETED_AT_ONCE);
}

/** Finished runs that are not kept any more, and the times at which others follow. */
function listOutdated<Run extends ObservedRun>(
  { ttlSecondsAfterFinished: ttl }: StoredJob,
  runs: readonly Run[],
  now: number,
) {
  const finished = sortRuns(runs)
    .filter(run => !run.isGoing && !isActive(run))
    .toReversed();
  const surplus = (['Succeeded', 'Failed'] as const).flatMap(phase =>
    finished.filter(({ status }) => status?.phase === phase).slice(KEPT[phase]),
  );
  const kept = finished.filter(run => !surplus.includes(run));
  const ends = kept.map(run => ({ run, at: Date.parse(run.status?.finishedAt ?? '') + (ttl ?? Infinity) * 1000 }));
  return {
    now: [...surplus, ...ends.filter(({ at }) => at <= now).map(({ run }) => run)],
    later: ends.flatMap(({ at }) => (at > now && at < Infinity ? [at] : [])),
  };
}

function sortRuns<Run extends ObservedRun>(runs: readonly Run[]): readonly Run[] {
  return runs.toSorted((a, b) => Date.parse(a.scheduledAt) - Date.parse(b.scheduledAt));
}

interface SettledTicks {
  readonly create: RunsDecision['create'];
  readonly leftOut: readonly SkippedTicks[];
  readonly next: number | undefined;
  /** The tick whose run waits until others have stopped. */
  readonly waiting?: number | undefined;
}

/** The status that follows. */
function describe(
  { job, runs }: RunsInput,
  { missed, lastRun, lastScheduledAt, settledUntil }: ScheduleStatus,
  { create, leftOut, next, waiting }: SettledTicks,
): JobStatus {
  const shown = [...sortRuns(runs).map(toRunStatus), ...(create ? [{ ...create, phase: 'Pending' as const }] : [])];
  const active = [...runs.filter(isActive), ...(create ? [create] : [])].map(({ name }) => name);
  const newest = chooseLast(shown, lastRun);
  const last = leftOut.at(-1);
  const count = (missed?.count ?? 0) + leftOut.reduce((sum, each) => sum + each.count, 0);
  const reported = last ? { count, lastAt: last.at, reason: last.reason } : missed;
  const nextRunAt = next === undefined || waiting !== undefined ? undefined : toTime(next);
  const scheduledAt = create?.scheduledAt ?? lastScheduledAt;
  const unended = active.length === 1 ? `${active[0]} has` : `${active.length} runs have`;
  const message = [
    ...(active.length > 0 ? [`${unended} not ended`] : []),
    nextRunAt === undefined ? 'no run follows' : `the next run is due at ${nextRunAt}`,
  ].join('; ');
  return {
    uid: job.metadata.uid,
    phase: 'Scheduled',
    message: waiting === undefined ? message : `the tick of ${toTime(waiting)} waits until ${unended} stopped`,
    attempts: 0,
    history: [],
    settledUntil,
    ...(scheduledAt !== undefined && { lastScheduledAt: scheduledAt }),
    ...(nextRunAt !== undefined && { nextRunAt }),
    active,
    ...(newest && { lastRun: newest }),
    runs: shown,
    ...(reported && { missed: reported }),
  };
}

/** The last run that there was. One that has gone before its end was seen has an unknown end. */
function chooseLast(shown: readonly RunStatus[], known: RunStatus | undefined): RunStatus | undefined {
  const newest = shown.at(-1);
  if (!known || (newest && Date.parse(newest.scheduledAt) >= Date.parse(known.scheduledAt))) return newest;
  return known.phase === 'Succeeded' || known.phase === 'Failed' ? known : { ...known, phase: 'Deleted' };
}

function toRunStatus({ name, scheduledAt, status }: ObservedRun): RunStatus {
  const { phase = 'Pending', exitCode, finishedAt } = status ?? {};
  return {
    name,
    scheduledAt,
    phase,
    ...(exitCode !== undefined && { exitCode }),
    ...(finishedAt !== undefined && { finishedAt }),
  };
}

/** What is known of a job so far; ticks count from its creation. */
function toScheduleStatus({ job, status }: RunsInput): ScheduleStatus {
  return { active: [], runs: [], ...status, settledUntil: status?.settledUntil ?? job.metadata.createdAt };
}

function toUnusable(input: RunsInput): JobStatus {
  const status = describe(input, toScheduleStatus(input), { create: undefined, leftOut: [], next: undefined });
  const message = 'its schedule or time zone cannot be worked with: delete the job and create it again';
  return { ...status, message, reason: 'schedule_unusable' };
}

function store({ status: stored }: RunsInput, status: JobStatus): Pick<RunsDecision, 'status'> {
  return isDeepStrictEqual(stored, status) ? {} : { status };
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
