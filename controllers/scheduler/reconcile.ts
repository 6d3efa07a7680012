import { keys } from '../../crds/keys/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import { groupByForm, type PlacementPolicy, toWorkload } from '../../pkg/fleet/index.js';
import { again, done, type LoopEnv, type Reconcile, type ReconcileResult } from '../../pkg/reconcile/index.js';
import { type Cache, type Entry, StoreRefusedFault, value } from '../../pkg/store/index.js';
import { parseQueueKey, readWorkload } from '../reading/index.js';
import {
  buildPlacements,
  buildReport,
  clearReport,
  guardAsRead,
  type ReportWithEvent,
  type SchedulingSubject,
  splitIntoBatches,
  storeReport,
  toReport,
  updateReport,
  withNode,
} from './changes.js';
import { type Assignment, decideSchedule, isReported, listUnplaced, type ScheduleDecision } from './decide.js';
import type { SchedulerState } from './state.js';

/** How soon to reconcile again while placements of other deployments are not confirmed. */
const UNCONFIRMED_RETRY_MS = 1_000;

/**
 * Gives every replica without a node a node, or reports of each node why it was rejected.
 *
 * It never moves a replica that is placed, and never looks past the deployment's own tenant.
 */
export function schedule(policy: PlacementPolicy, stateOf: (cache: Cache) => SchedulerState): Reconcile {
  return async (key, env) => {
    const state = stateOf(env.cache);
    const named = parseQueueKey(key);
    const { tenant } = named;
    // The fleets may not have seen the change that woke this key yet: the cache notifies its subscribers in one go.
    await Promise.resolve();
    // Nothing is awaited from here until the decision is assumed: no other deployment decides on the same capacity.
    const now = env.clock.monotonic();
    const { first, keepOpen } = state.assumed.lift(key, now);
    const reading = readWorkload(named, env.cache, policy.regions);
    const stored = env.cache.get(keys.scheduling(tenant, named.name));
    const waiting = first(listUnplaced(reading));
    if (!reading.deployment || waiting.length === 0) {
      state.throttle.forget(key);
      if (stored) await env.commit(clearReport(stored));
      return done; // deleted while it was queued, or every replica has its node
    }

    const { uid } = reading.deployment.metadata;
    const fleet = state.fleets.readNow(tenant);
    const totals = state.fleets.readTotals(tenant);
    const wanted = groupByForm(reading.deployment, waiting, env.cache).map(({ spec, replicas }) => ({
      waiting: replicas,
      count: replicas.length,
      workload: toWorkload(spec, tenant, { cache: env.cache, policy }, totals),
    }));
    const placements = fleet.placeEach(wanted);
    const groups = wanted.map((group, at) => ({ ...group, placement: placements[at]! }));
    const unplaced = placements.reduce((sum, placement) => sum + placement.unplaced, 0);
    const report = stored && value<SchedulingReport>(stored);
    const waitMs = isReported(report, uid, unplaced) ? state.throttle.waitFor(key, fleet.size, now) : 0;
    const decision = decideSchedule({
      uid,
      groups,
      report,
      mayExplain: waitMs === 0,
      now: env.clock.now(),
    });
    const publishing = new Set(groups.flatMap(each => (each.workload.hostPorts.length > 0 ? each.waiting : [])));
    const assignments = decision.assignments.map(each =>
      publishing.has(each.seen)
        ? { ...each, portGuard: guardAsRead(keys.portConflict(tenant, each.node.id), env.cache) }
        : each,
    );
    keepOpen(waiting, assignments);
    const quotas = guardAsRead(keys.tenant(tenant), env.cache);
    const subject: SchedulingSubject = { named, uid, same: reading.same, quotas };
    await assign(key, assignments, subject, state, env);
    if (waitMs > 0) return again(waitMs, 'other deployments are explained first');

    const next = await writeReport(decision, stored, subject, env);
    if (unplaced === 0 || next.kind === 'again' || !state.fleets.isAssuming(tenant)) return next;
    return again(UNCONFIRMED_RETRY_MS, 'placements of other deployments are not confirmed yet');
  };
}

/** Commits the placements. After a failure they stay assumed: the store may have made them, or may yet. */
async function assign(
  key: string,
  assignments: readonly Assignment[],
  subject: SchedulingSubject,
  state: SchedulerState,
  env: LoopEnv,
): Promise<void> {
  const release = state.fleets.assume(assignments.map(withNode));
  try {
    for (const some of splitIntoBatches(assignments, env.cache)) {
      await env.commit(await buildPlacements(some, subject, env));
      for (const { seen, node } of some) {
        env.log.info('replica placed', { replica: seen.replica.uid, node: node.name, ...toFields(subject) });
      }
    }
  } catch (thrown) {
    state.assumed.keep(key, assignments, env.clock.monotonic());
    throw thrown;
  } finally {
    release();
  }
}

async function writeReport(
  { verdict, report }: ScheduleDecision,
  stored: Entry | undefined,
  subject: SchedulingSubject,
  env: LoopEnv,
): Promise<ReconcileResult> {
  if (report.kind === 'clear' || !verdict) {
    if (stored) await env.commit(clearReport(stored));
    return done;
  }
  if (report.kind === 'nothing' || report.kind === 'later') {
    const change = stored && (await updateReport(verdict, stored, subject, env));
    if (change) await env.commit(change);
    // A node that gives another reason wakes the deployment.
    return report.kind === 'nothing' ? done : again(report.afterMs, 'its last event is less than a minute old');
  }

  await writeReportEvent(report, stored, subject, env);
  env.log.warn('replicas have no node: "moor explain deployment" says what each node lacks', {
    ...toFields(subject),
    count: verdict.unplaced,
    because: verdict.summary,
  });
  return done;
}

/** When the store refuses the event, the report is stored without it: the deployment must be woken all the same. */
async function writeReportEvent(
  decision: ReportWithEvent,
  stored: Entry | undefined,
  subject: SchedulingSubject,
  env: LoopEnv,
): Promise<void> {
  try {
    await env.commit(await buildReport(decision, stored, subject, env));
  } catch (thrown) {
    if (!(thrown instanceof StoreRefusedFault)) throw thrown;
    env.log.error('the store refuses the event of replicas without a node', { ...toFields(subject), error: thrown });
    await env.commit(storeReport(toReport(decision.verdict, env), stored, subject));
  }
}

function toFields({ named }: SchedulingSubject): { readonly tenant: string; readonly deployment: string } {
  return { tenant: named.tenant, deployment: named.name };
}
