import { keys } from '../../crds/keys/index.js';
import type { Scheduling } from '../../crds/scheduling/index.js';
import { Fleets, type PlacementPolicy } from '../../pkg/fleet/index.js';
import { again, done, type LoopEnv, type Reconcile } from '../../pkg/reconcile/index.js';
import { value } from '../../pkg/store/index.js';
import { type DeploymentReading, namedBy, readDeployment, unmetDependencies } from '../reading/index.js';
import { changeFor, finish, residencyViolated } from './changes.js';
import { decideReplicas, type ReplicaDecision, RESIDENCY_VIOLATED } from './decide.js';
import type { SlotStep } from './slot-step.js';
import { spareFor } from './spare.js';

/** How often to look for another place for replicas whose node is lost or to be emptied. */
const UPROOTED_MS = 5_000;

/** Decides as `decideReplicas` does. A simulation hands in others, to see that they are found out. */
export type Decide = (...given: Parameters<typeof decideReplicas>) => ReplicaDecision;

/**
 * Makes the next step for every slot of one deployment that needs one.
 *
 * Each step is a change of its own: one that was outrun does not hold up the others, and what the steps lead to wakes
 * the deployment again.
 */
export function keepReplicas(policy: PlacementPolicy, decide: Decide = decideReplicas): Reconcile {
  let fleets: Fleets | undefined;
  return async (key, env) => {
    const named = namedBy(key);
    const first = readDeployment(named, env.cache, policy.regions);
    const isUprooted = first.replicas.some(({ lost, draining }) => lost ?? draining);
    const fleet = isUprooted ? await (fleets ??= new Fleets(env.cache)).of(named.tenant) : undefined;
    const reading = fleet ? readDeployment(named, env.cache, policy.regions) : first;
    const { steps, finished } = decide(reading.deployment, reading.replicas, {
      refused: refusedIn(reading, env.cache),
      held: reading.deployment !== undefined && unmetDependencies(reading.deployment, env.cache).length > 0,
      spare: fleet ? spareFor(reading, fleet, { cache: env.cache, policy }) : 0,
    });

    if (finished) {
      await env.commit(await finish(named, reading, env));
      env.log.info('deployment removed', { tenant: named.tenant, deployment: named.name });
      return done;
    }
    const moved = steps.flatMap(step => (isMove(step) ? [step.seen] : []));
    const event = moved.length > 0 ? await env.events.put(residencyViolated(moved)) : undefined;
    await all(
      steps.map(async step => {
        // One event for all that are moved together, with the first of them.
        const told = event && isMove(step) && step.seen === moved[0] ? [event] : [];
        await env.commit(changeFor(step, reading, env, told));
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
function refusedIn({ deployment }: DeploymentReading, cache: LoopEnv['cache']): number {
  if (!deployment) return 0;
  const { tenant, uid } = deployment.metadata;
  const entry = cache.get(keys.scheduling(tenant, deployment.name));
  const scheduling = entry && value<Scheduling>(entry);
  return scheduling?.uid === uid ? scheduling.unplaced : 0;
}

/** Waits for all, then fails if one did: no step may still be under way when the key is given back. */
async function all(steps: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(steps);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

function logStep(step: SlotStep, log: LoopEnv['log']): void {
  if (step.kind === 'fill') log.info('replica wanted', { count: step.slot });
  else if (step.kind === 'retire')
    log.info('replica retired', { replica: step.seen.replica.uid, because: step.because });
  else log.info('replica cleared', { replica: step.seen.replica.uid });
}
