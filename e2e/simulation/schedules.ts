import { expect } from 'chai';

import { isFinished, type JobStatus, type StoredJob } from '../../crds/job/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import { value } from '../../pkg/store/index.js';
import { type SimCluster, TENANTS } from './cluster.js';
import { hasten } from './haste.js';
import type { History, Invariant, StoreChange } from './history.js';

const JOBS = '/api/v1/jobs';
const MINUTE_MS = 60_000;
/** A new leader may take a lease, and a tick is due in the minute after. */
const SETTLED_WITHIN_MS = 6 * MINUTE_MS;
const CALM_MS = 30_000;
/** Clocks that differ by less are not corrected: 4 s, and time passes twelve times faster here. */
const EARLY_MS = 60_000;

/** Users ask for jobs with a schedule until `until`, and delete some of them and some of their runs. */
export function useSchedules(cluster: SimCluster, history: History, until: number): void {
  const { world } = cluster;
  let asked = 0;
  const remove = ({ name, metadata: { tenant } }: StoredJob) =>
    void cluster.ask({ method: 'DELETE', path: `${JOBS}/{name}`, tenant, params: { name } });
  const next = () => {
    world.after(world.between(2_000, 10_000), 'a user asks for a schedule', () => {
      if (world.time >= until) return;
      const document = {
        kind: 'Job',
        name: `tidy-${asked++ % 3}`,
        image: 'registry.test/job:1',
        backoffLimit: world.pick([0, 1]),
        schedule: world.pick(['* * * * *', '*/3 * * * *']),
        concurrencyPolicy: world.pick(['Allow', 'Forbid', 'Forbid', 'Replace']),
        ...(world.chance(0.4) && { ttlSecondsAfterFinished: 20 }),
      };
      void cluster.ask({ method: 'POST', path: JOBS, tenant: world.pick(TENANTS), op: document.name, document });
      const [scheduled, runs] = [listScheduled(history), listRuns(history)];
      if (scheduled.length > 3) remove(world.pick(scheduled));
      if (runs.length > 0 && world.chance(0.5)) remove(world.pick(runs));
      next();
    });
  };
  next();
}

function listScheduled(history: History): readonly StoredJob[] {
  return history.all<StoredJob>(ranges.jobs).filter(({ schedule }) => schedule !== undefined);
}

function listRuns(history: History): readonly StoredJob[] {
  return history.all<StoredJob>(ranges.jobs).filter(({ metadata }) => metadata.owner !== undefined);
}

/** In calm weather every tick is settled soon; one whose run waits until another one has stopped, when the next is due. */
export async function expectTicks(cluster: SimCluster, history: History, inspect: () => void): Promise<void> {
  await cluster.world.pass(CALM_MS, inspect);
  const now = hasten(cluster.world.clock).now();
  for (const { name, metadata, concurrencyPolicy } of listScheduled(history)) {
    if (metadata.deletedAt) continue;
    const { settledUntil = '' } = history.get<JobStatus>(keys.jobStatus(metadata.tenant, name)) ?? {};
    const withinMs = SETTLED_WITHIN_MS + (concurrencyPolicy === 'Replace' ? 3 * MINUTE_MS : 0);
    expect(now - Date.parse(settledUntil), `time since a tick of ${name} was settled`).to.be.lessThan(withinMs);
  }
}

/** Has every job with a schedule deleted: while there is one, something happens. */
export function endSchedules(cluster: SimCluster, history: History): void {
  for (const { name, metadata } of listScheduled(history)) {
    const { tenant, deletedAt } = metadata;
    if (!deletedAt) void cluster.ask({ method: 'DELETE', path: `${JOBS}/{name}`, tenant, params: { name } });
  }
}

/**
 * - no run is made before its tick
 * - a tick has one run, which is made together with the word that it is settled, by a job that is there and not deleted
 * - no run is made beside another one that has not ended, if its job forbids that or replaces it
 * - what is settled stays settled
 * - a job with a schedule goes after its runs, and when its deletion was asked for
 */
export function createScheduleInvariant(clock: Clock): Invariant {
  const made = new Set<string>();
  return (changes, history) => {
    for (const change of changes) {
      if (change.key.startsWith(ranges.jobStatuses)) noteStatus(change);
      if (!change.key.startsWith(ranges.jobs)) continue;
      if (change.entry && !change.before) noteRun(value<StoredJob>(change.entry), changes, history, made);
      const tick = Date.parse((change.entry && value<StoredJob>(change.entry).metadata.scheduledAt) ?? '');
      expect(tick - hasten(clock).now() > EARLY_MS, `${change.key} is made before its tick`).to.equal(false);
      if (change.before && !change.entry) noteRemoval(value<StoredJob>(change.before), history);
    }
  };
}

function noteStatus({ before, entry, key }: StoreChange): void {
  const [was, is] = [before && value<JobStatus>(before), entry && value<JobStatus>(entry)];
  if (!is || was?.uid !== is.uid || was.settledUntil === undefined) return;
  expect(Date.parse(is.settledUntil!), `settled of ${key}`).to.be.at.least(Date.parse(was.settledUntil));
}

function noteRun(
  { name, metadata }: StoredJob,
  changes: readonly StoreChange[],
  history: History,
  made: Set<string>,
): void {
  const { tenant, owner, scheduledAt = '' } = metadata;
  if (!owner) return;
  const tick = `${owner.uid} ${scheduledAt}`;
  expect(made.has(tick), `a second run of ${tick}`).to.equal(false);
  made.add(tick);
  const job = history.get<StoredJob>(keys.job(tenant, owner.name));
  expect([job?.metadata.uid, job?.metadata.deletedAt], `the job of ${name}`).to.deep.equal([owner.uid, undefined]);
  const statusKey = keys.jobStatus(tenant, owner.name);
  const settled = changes.find(({ key }) => key === statusKey)?.entry;
  expect(settled && value<JobStatus>(settled).settledUntil, `settled with ${name}`).to.equal(scheduledAt);

  if (job?.concurrencyPolicy === 'Allow') return;
  const others = listRuns(history).filter(run => run.metadata.owner?.uid === owner.uid && run.name !== name);
  const active = others.filter(run => {
    const status = history.get<JobStatus>(keys.jobStatus(tenant, run.name));
    return status?.uid !== run.metadata.uid || !isFinished(status);
  });
  expect(
    active.map(run => run.name),
    `what has not ended beside ${name} (${job?.concurrencyPolicy})`,
  ).to.deep.equal([]);
}

function noteRemoval({ name, metadata, schedule }: StoredJob, history: History): void {
  if (schedule === undefined) return;
  expect(metadata.deletedAt, `${name} went unasked`).to.be.a('string');
  const left = listRuns(history).filter(run => run.metadata.owner?.uid === metadata.uid);
  expect(
    left.map(run => run.name),
    `runs of ${name}, which is gone`,
  ).to.deep.equal([]);
}
