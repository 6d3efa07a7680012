import { keys } from '../../crds/keys/index.js';
import { templateHash } from '../../crds/replica/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import { type PlacementPolicy, TenantFleets, toWorkload } from '../../pkg/fleet/index.js';
import type { PlacementResult, Workload } from '../../pkg/placement/index.js';
import { again, done, type LoopEnv, type Reconcile, type ReconcileResult } from '../../pkg/reconcile/index.js';
import { type Entry, StoreRefusedFault, value } from '../../pkg/store/index.js';
import {
  isWaiting,
  type ObservedDeployment,
  type ObservedReplica,
  parseQueueKey,
  readDeployment,
} from '../reading/index.js';
import {
  type Assignment,
  buildPlacements,
  buildReport,
  buildReportWithoutEvent,
  clearReport,
  guardQuotas,
  type PlacementSubject,
  readPortTurn,
  type ReportWithEvent,
  type SchedulingSubject,
  updateReport,
  withNode,
} from './changes.js';
import { decideReport, toVerdict } from './decide.js';
import { AssumedPlacements, ExplainThrottle } from './state.js';

/** Replicas placed by one transaction: etcd bounds how much one may hold. */
const PLACED_AT_ONCE = 20;

/** How soon to look again when others are being placed on what this one was refused. */
const PLACEMENTS_UNDER_WAY_MS = 1_000;

/**
 * Gives every replica without a node a node, or says of each candidate why it could not serve.
 *
 * It never moves a replica that is placed, and never looks past the deployment's own tenant.
 */
export function schedule(policy: PlacementPolicy): Reconcile {
  const desk = new SchedulerState(policy);
  return (key, env) => desk.reconcile(key, env);
}

/** What is kept from one reconcile to the next. Nothing of it is missed after a crash. */
class SchedulerState {
  readonly #policy: PlacementPolicy;
  readonly #explaining = new ExplainThrottle();
  #books: { readonly fleets: TenantFleets; readonly doubts: AssumedPlacements } | undefined;

  constructor(policy: PlacementPolicy) {
    this.#policy = policy;
  }

  async reconcile(key: string, env: LoopEnv): Promise<ReconcileResult> {
    const named = parseQueueKey(key);
    const { fleets, doubts } = this.#booksOn(env.cache);
    // Of the change that has woken this one the fleets may not have been told yet: the cache tells all in one go.
    await Promise.resolve();
    // From here to what is assumed below nothing is awaited: nobody else decides on the same room.
    const now = env.clock.monotonic();
    const { first, keepOpen } = doubts.lift(key, now);
    const reading = readDeployment(named, env.cache, this.#policy.regions);
    const standing = env.cache.get(keys.scheduling(named.tenant, named.name));
    const waiting = first(waitingReplicas(reading));
    if (!reading.deployment || waiting.length === 0) {
      this.#explaining.forget(key);
      if (standing) await env.commit(clearReport(standing));
      return done; // deleted while it was queued, or everything has its node
    }

    const { deployment, same } = reading;
    const fleet = fleets.now(named.tenant);
    const reader = { cache: env.cache, policy: this.#policy };
    const workload = toWorkload(deployment, named.tenant, reader, fleets.totalsOf(named.tenant));
    const found = fleet.place(waiting.length, workload);
    const subject: SchedulingSubject = { named, uid: deployment.metadata.uid, same };
    const isKnown = says(standing, subject.uid, found.unplaced);
    const wait = isKnown ? this.#explaining.waitFor(key, fleet.size, now) : 0;
    const verdict = wait > 0 ? undefined : toVerdict(subject.uid, found, workload);
    const assignments = assignmentsOf(found, waiting, workload, env);
    keepOpen(waiting, assignments);
    await this.#assign(key, assignments, { ...subject, quotas: guardQuotas(named.tenant, env.cache) }, env);
    if (wait > 0) return again(wait, 'others are asking the same nodes why');

    const next = await say(verdict, standing, subject, env);
    if (found.unplaced === 0 || next.kind === 'again' || !fleets.isAssuming(named.tenant)) return next;
    return again(PLACEMENTS_UNDER_WAY_MS, 'placements under way may come to nothing');
  }

  #booksOn(cache: LoopEnv['cache']) {
    if (!this.#books) {
      const fleets = new TenantFleets(cache);
      this.#books = { fleets, doubts: new AssumedPlacements(fleets) };
    }
    return this.#books;
  }

  async #assign(key: string, assignments: readonly Assignment[], subject: PlacementSubject, env: LoopEnv) {
    const { fleets, doubts } = this.#booksOn(env.cache);
    const takeBack = fleets.assume(assignments.map(withNode));
    try {
      await assign(assignments, subject, env);
    } catch (thrown) {
      doubts.keep(key, assignments, env.clock.monotonic());
      throw thrown;
    } finally {
      takeBack();
    }
  }
}

/** Whether it is known already that so many replicas of the deployment wait. */
function says(standing: Entry | undefined, uid: string, unplaced: number): boolean {
  const known = standing && value<SchedulingReport>(standing);
  return unplaced > 0 && known?.uid === uid && known.unplaced === unplaced;
}

/**
 * Replicas that are to be placed now. All of them are made from the deployment's present template: the replica keeper
 * is about to replace the others.
 */
function waitingReplicas({ deployment, replicas }: ObservedDeployment): readonly ObservedReplica[] {
  if (!deployment || deployment.metadata.deletedAt) return [];
  const present = templateHash(deployment);
  const { uid } = deployment.metadata;
  return replicas.filter(
    ({ replica }) => isWaiting(replica) && replica.deploymentUid === uid && replica.templateHash === present,
  );
}

function assignmentsOf(
  { nodes }: PlacementResult,
  waiting: readonly ObservedReplica[],
  { tenant, hostPorts }: Workload,
  { cache }: LoopEnv,
): readonly Assignment[] {
  return nodes.map((node, position) => {
    const assignment = { seen: waiting[position]!, node };
    return hostPorts.length === 0 ? assignment : { ...assignment, turn: readPortTurn(tenant, node.id, cache) };
  });
}

async function assign(assignments: readonly Assignment[], subject: PlacementSubject, env: LoopEnv): Promise<void> {
  for (let from = 0; from < assignments.length; from += PLACED_AT_ONCE) {
    const some = assignments.slice(from, from + PLACED_AT_ONCE);
    await env.commit(await buildPlacements(some, subject, env));
    for (const { seen, node } of some) {
      env.log.info('replica placed', { ...fields(subject), replica: seen.replica.uid, node: node.name });
    }
  }
}

/** Keeps the record of why replicas wait: made, renewed or taken back. */
async function say(
  verdict: ReturnType<typeof toVerdict>,
  standing: Entry | undefined,
  subject: SchedulingSubject,
  env: LoopEnv,
): Promise<ReconcileResult> {
  if (!verdict) {
    if (standing) await env.commit(clearReport(standing));
    return done;
  }
  const saying = decideReport(verdict, standing && value<SchedulingReport>(standing), env.clock.now());
  if (saying.kind === 'nothing' || saying.kind === 'later') {
    const change = standing && (await updateReport(verdict, standing, subject, env));
    if (change) await env.commit(change);
    // A node that says something else wakes it.
    return saying.kind === 'nothing' ? done : again(saying.afterMs, 'an event of it was written a moment ago');
  }

  await complain(saying, standing, subject, env);
  env.log.warn('replicas have no node', { ...fields(subject), count: verdict.unplaced, because: verdict.summary });
  return done;
}

/** An event that the store will not take must not leave the deployment unheard: its record is small enough for any. */
async function complain(
  saying: ReportWithEvent,
  standing: Entry | undefined,
  subject: SchedulingSubject,
  env: LoopEnv,
): Promise<void> {
  try {
    await env.commit(await buildReport(saying, standing, subject, env));
  } catch (thrown) {
    if (!(thrown instanceof StoreRefusedFault)) throw thrown;
    env.log.error('the store does not take the event of replicas without a node', {
      ...fields(subject),
      error: thrown,
    });
    await env.commit(buildReportWithoutEvent(saying.verdict, standing, subject, env));
  }
}

function fields({ named }: SchedulingSubject): { readonly tenant: string; readonly deployment: string } {
  return { tenant: named.tenant, deployment: named.name };
}
