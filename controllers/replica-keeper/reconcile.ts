import { keys } from '../../crds/keys/index.js';
import type { Reason } from '../../crds/reasons/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import {
  groupByForm,
  type PlacementPolicy,
  type PlacementSources,
  sumRequests,
  TenantFleets,
  toWorkload,
} from '../../pkg/fleet/index.js';
import type { NodeFleet } from '../../pkg/placement/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import { again, done, type LoopEnv, type Reconcile } from '../../pkg/reconcile/index.js';
import { readValue } from '../../pkg/store/index.js';
import { isLost, isWaiting, type ObservedDeployment, parseQueueKey, readDeployment } from '../reading/index.js';
import { advanceRollout, isWaitingForOthers, readRollout, settleCanary } from './advance.js';
import { chooseLeaver, decideReplicas, type KeeperInput } from './decide.js';
import { isLeaving } from './plan-rollout.js';
import { buildStep, draftResidencyEvent, isMove, listAbandoned, logStep, removeDeployment, omitHeld } from './steps.js';

/** How often to look for another node for replicas whose node is lost or draining. */
const UPROOTED_MS = 5_000;

/**
 * Makes the next step for every slot of one deployment that needs one.
 *
 * Each step is a change of its own, so that one whose guard fails does not hold up the others. The changes wake the
 * deployment again.
 *
 * `decide` is replaced only by simulations, to prove that they detect wrong decisions.
 */
export function keepReplicas(policy: PlacementPolicy, settleMs: number, decide = decideReplicas): Reconcile {
  let fleets: TenantFleets | undefined;
  let term: Pick<LoopEnv, 'fence'> & { readonly since: number };
  return async (key, env) => {
    if (term?.fence !== env.fence) term = { fence: env.fence, since: env.clock.now() };
    const named = parseQueueKey(key);
    const first = readDeployment(named, env.cache, policy.regions);
    const isUprooted = first.replicas.some(({ lost, draining }) => lost ?? draining);
    const fleet = isUprooted ? await (fleets ??= new TenantFleets(env.cache)).read(named.tenant) : undefined;
    const reading = fleet ? readDeployment(named, env.cache, policy.regions) : first;
    const rollout = readRollout(reading, env.cache);
    const canary = rollout && (await settleCanary(rollout, reading, env));
    if (canary === 'recorded') return done;
    const { steps, finished, settlesInMs } = decide(reading.wanted, reading.replicas, {
      ...readRefusals(reading, env.cache),
      held: isWaitingForOthers(reading.deployment, env.cache),
      ...(fleet && findSpare(reading, fleet, { cache: env.cache, policy })),
      now: env.clock.now(),
      settleMs,
      ...(canary && { baseline: canary.baseline }),
      ...(rollout?.record?.completed && { completed: rollout.record.completed.templateHash }),
    });

    const abandoned = reading.deployment?.metadata.deletedAt ? listAbandoned(steps) : [];
    if (finished || (abandoned.length > 0 && abandoned.length === reading.replicas.length)) {
      await env.commit(await removeDeployment(named, reading, abandoned, env));
      env.log.info('deployment removed', { tenant: named.tenant, deployment: named.name, count: abandoned.length });
      return done;
    }
    const moved = steps.flatMap(step => (isMove(step) ? [step.seen] : []));
    const event = moved.length > 0 ? await env.events.put(draftResidencyEvent(moved)) : undefined;
    await waitForAll(
      omitHeld(steps, abandoned).map(async step => {
        // All replicas that are moved together share one event, which is committed with the first of them.
        const events = event && isMove(step) && step.seen === moved[0] ? [event] : [];
        const change = buildStep(step, reading, events, env);
        failpoint('replica.changing');
        await env.commit(change);
        failpoint('replica.changed');
        logStep(step, env.log.with({ tenant: named.tenant, deployment: named.name }));
      }),
    );
    const times = { settleMs, watchedSince: term.since, canary };
    const deadlineInMs = rollout && steps.length === 0 ? await advanceRollout(rollout, reading, times, env) : undefined;
    // Capacity that becomes free on other nodes does not wake this deployment.
    if (isUprooted) return again(UPROOTED_MS, 'replicas wait for another node');
    const next = Math.min(settlesInMs ?? Infinity, deadlineInMs ?? Infinity);
    return Number.isFinite(next) ? again(next, 'a rollout waits for its replicas') : done;
  };
}

/** How many replicas the scheduler reports no node for, and whether room could be made for them. */
function readRefusals(
  { deployment }: ObservedDeployment,
  cache: LoopEnv['cache'],
): Pick<KeeperInput, 'refused' | 'crowded'> {
  if (!deployment) return {};
  const { metadata, name, placement } = deployment;
  const report = readValue<SchedulingReport>(cache, keys.scheduling(metadata.tenant, name));
  if (report?.uid !== metadata.uid) return {};
  const { refusing, unplaced } = report;
  // Replicas of other deployments stay where they are.
  const excludesOthers = (placement?.antiAffinity?.deployments ?? []).length > 0;
  const crowded = refusing.some(isCrowding) && refusing.every(filter => isCrowding(filter) || LASTING.has(filter));
  return { refused: unplaced, crowded: crowded && !excludesOthers };
}

/** Filters that refuse a node for good, or for now, whatever stands there. */
const LASTING: ReadonlySet<Reason> = new Set<Reason>(['ready', 'tenant', 'control_plane']);

function isCrowding(filter: Reason): boolean {
  return filter === 'port' || filter === 'anti_affinity';
}

/** Waits for all steps and then throws if one failed: no step may still run when the reconcile ends. */
async function waitForAll(steps: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(steps);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/**
 * How many replicas the nodes would take beyond those that wait already, at most as many as are lost or leaving, and which lost ones
 * could run elsewhere. Each is asked for as it would be recreated: those of an older template that is kept as that asks.
 *
 * Lost replicas do not count against the tenant's quotas here: each is deleted when its replacement is created.
 */
function findSpare(
  { deployment, replicas }: ObservedDeployment,
  fleet: NodeFleet,
  sources: PlacementSources,
): Pick<KeeperInput, 'spare' | 'replaceable'> {
  if (!deployment || deployment.metadata.deletedAt) return {};
  const { tenant } = deployment.metadata;
  const leaver = chooseLeaver(replicas.filter(seen => isLeaving(seen) && !seen.replica.retiringSince));
  const lost = replicas.filter(seen => seen.lost && !seen.replica.retiringSince);
  const gone = sumRequests(lost.map(({ replica }) => replica));
  const totals = {
    replicas: fleet.totals.replicas - gone.replicas,
    cpu: fleet.totals.cpu - gone.cpu,
    memory: fleet.totals.memory - gone.memory,
  };
  const groups = groupByForm(deployment, replicas, sources.cache).map(group => {
    const waiting = group.replicas.filter(({ replica }) => isWaiting(replica)).length;
    const own = lost.filter(seen => group.replicas.includes(seen) && isLost(seen, deployment));
    // Those of a machine that is off for certain are given up in any case.
    const givenUp = own.toSorted((a, b) => Number(b.lost?.by === 'fence') - Number(a.lost?.by === 'fence'));
    const leaving = leaver && group.replicas.includes(leaver) ? 1 : 0;
    const workload = toWorkload(group.spec, tenant, sources, totals);
    return { waiting, leaving, givenUp, count: waiting + leaving + givenUp.length, workload };
  });
  const spares = fleet.placeEach(groups).map(({ nodes }, at) => nodes.length - groups[at]!.waiting);
  return {
    spare: spares[groups.findIndex(({ leaving }) => leaving > 0)] ?? 0,
    replaceable: new Set(
      groups.flatMap(({ givenUp }, at) => givenUp.slice(0, Math.max(0, spares[at]!)).map(({ replica }) => replica.uid)),
    ),
  };
}
