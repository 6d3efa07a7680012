import { keys } from '../../crds/keys/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import { type PlacementSources, type PlacementPolicy, TenantFleets, toWorkload } from '../../pkg/fleet/index.js';
import type { NodeFleet } from '../../pkg/placement/index.js';
import { again, done, type LoopEnv, type Reconcile } from '../../pkg/reconcile/index.js';
import { value } from '../../pkg/store/index.js';
import {
  isWaiting,
  listUnmetDependencies,
  type ObservedDeployment,
  type ObservedReplica,
  parseQueueKey,
  readDeployment,
} from '../reading/index.js';
import { buildStep, draftResidencyEvent, removeDeployment } from './changes.js';
import { decideReplicas, type ReplicaDecision, RESIDENCY_VIOLATED, type SlotStep } from './decide.js';

/** How often to look for another place for replicas whose node is lost or to be emptied. */
const UPROOTED_MS = 5_000;

/** Decides as `decideReplicas` does. A simulation hands in others, to see that they are found out. */
export type DecideReplicas = (...given: Parameters<typeof decideReplicas>) => ReplicaDecision;

/**
 * Makes the next step for every slot of one deployment that needs one.
 *
 * Each step is a change of its own: one that was outrun does not hold up the others, and what the steps lead to wakes
 * the deployment again.
 */
export function keepReplicas(policy: PlacementPolicy, decide: DecideReplicas = decideReplicas): Reconcile {
  let fleets: TenantFleets | undefined;
  return async (key, env) => {
    const named = parseQueueKey(key);
    const first = readDeployment(named, env.cache, policy.regions);
    const isUprooted = first.replicas.some(({ lost, draining }) => lost ?? draining);
    const fleet = isUprooted ? await (fleets ??= new TenantFleets(env.cache)).read(named.tenant) : undefined;
    const reading = fleet ? readDeployment(named, env.cache, policy.regions) : first;
    const { steps, finished } = decide(reading.deployment, reading.replicas, {
      refused: refusedIn(reading, env.cache),
      held: reading.deployment !== undefined && listUnmetDependencies(reading.deployment, env.cache).length > 0,
      spare: fleet ? countSpare(reading, fleet, { cache: env.cache, policy }) : 0,
    });

    if (finished) {
      await env.commit(await removeDeployment(named, reading, env));
      env.log.info('deployment removed', { tenant: named.tenant, deployment: named.name });
      return done;
    }
    const moved = steps.flatMap(step => (isMove(step) ? [step.seen] : []));
    const event = moved.length > 0 ? await env.events.put(draftResidencyEvent(moved)) : undefined;
    await all(
      steps.map(async step => {
        // One event for all that are moved together, with the first of them.
        const told = event && isMove(step) && step.seen === moved[0] ? [event] : [];
        await env.commit(buildStep(step, reading, env, told));
        logStep(step, env.log.with({ tenant: named.tenant, deployment: named.name }));
      }),
    );
    // What becomes free elsewhere is no news of this deployment.
    return isUprooted ? again(UPROOTED_MS, 'replicas wait for another place') : done;
  };
}

function isMove(step: SlotStep): step is Extract<SlotStep, { readonly kind: 'retire' }> {
  return step.kind === 'retire' && step.because === RESIDENCY_VIOLATED;
}

/** How many replicas the scheduler has said no node will take. */
function refusedIn({ deployment }: ObservedDeployment, cache: LoopEnv['cache']): number {
  if (!deployment) return 0;
  const { tenant, uid } = deployment.metadata;
  const entry = cache.get(keys.scheduling(tenant, deployment.name));
  const scheduling = entry && value<SchedulingReport>(entry);
  return scheduling?.uid === uid ? scheduling.unplaced : 0;
}

/** Waits for all, then fails if one did: no step may still be under way when the key is given back. */
async function all(steps: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(steps);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

function logStep(step: SlotStep, log: LoopEnv['log']): void {
  if (step.kind === 'fill') log.info('replica created', { slot: step.slot });
  else if (step.kind === 'retire')
    log.info('replica retired', { replica: step.seen.replica.uid, because: step.because });
  else log.info('replica cleared', { replica: step.seen.replica.uid });
}

/**
 * How many replicas of the deployment nodes would take beside those that wait already, as far as anybody wants to know;
 * negative when not even those that wait find a node.
 *
 * What is lost does not count against the tenant's quotas here: it goes when its replacement comes.
 */
export function countSpare(
  { deployment, replicas }: ObservedDeployment,
  fleet: NodeFleet,
  reading: PlacementSources,
): number {
  if (!deployment || deployment.metadata.deletedAt) return 0;
  const { tenant } = deployment.metadata;
  const lost = replicas.filter(seen => seen.lost && !seen.replica.retiringSince).length;
  const leaving = replicas.some(({ draining }) => draining) ? 1 : 0;
  const waiting = replicas.filter(({ replica }: ObservedReplica) => isWaiting(replica)).length;

  const { requests } = toWorkload(deployment, tenant, reading, fleet.totals);
  const totals = {
    replicas: fleet.totals.replicas - lost,
    cpu: fleet.totals.cpu - lost * (requests.cpu ?? 0),
    memory: fleet.totals.memory - lost * (requests.memory ?? 0),
  };
  const found = fleet.place(lost + leaving + waiting, toWorkload(deployment, tenant, reading, totals));
  return found.nodes.length - waiting;
}
