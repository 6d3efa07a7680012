import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, type ObjectName, splitKey } from '../../crds/keys/index.js';
import { toContainerTemplate, type Replica, computeTemplateHash } from '../../crds/replica/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { type PlacementPolicy, type PlacementSources, TenantFleets, toWorkload } from '../../pkg/fleet/index.js';
import type { NodeFleet } from '../../pkg/placement/index.js';
import { again, done, type LoopEnv, type Reconcile } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Put, readValue } from '../../pkg/store/index.js';
import {
  isWaiting,
  listUnmetDependencies,
  type ObservedDeployment,
  type ObservedReplica,
  parseQueueKey,
  readDeployment,
} from '../reading/index.js';
import { decideReplicas, RESIDENCY_VIOLATED, type SlotStep } from './decide.js';

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
export function keepReplicas(policy: PlacementPolicy, decide = decideReplicas): Reconcile {
  let fleets: TenantFleets | undefined;
  return async (key, env) => {
    const named = parseQueueKey(key);
    const first = readDeployment(named, env.cache, policy.regions);
    const isUprooted = first.replicas.some(({ lost, draining }) => lost ?? draining);
    const fleet = isUprooted ? await (fleets ??= new TenantFleets(env.cache)).read(named.tenant) : undefined;
    const reading = fleet ? readDeployment(named, env.cache, policy.regions) : first;
    const { steps, finished } = decide(reading.deployment, reading.replicas, {
      refused: countRefused(reading, env.cache),
      held: isHeld(reading, env.cache),
      spare: fleet ? countSpare(reading, fleet, { cache: env.cache, policy }) : 0,
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
      without(steps, abandoned).map(async step => {
        // All replicas that are moved together share one event, which is committed with the first of them.
        const events = event && isMove(step) && step.seen === moved[0] ? [event] : [];
        await env.commit(buildStep(step, reading, events, env));
        logStep(step, env.log.with({ tenant: named.tenant, deployment: named.name }));
      }),
    );
    // Capacity that becomes free on other nodes does not wake this deployment.
    return isUprooted ? again(UPROOTED_MS, 'replicas wait for another node') : done;
  };
}

/** Replicas on lost nodes that are cleared with their deployment: well below what the store takes in one transaction. */
const ABANDONED_AT_ONCE = 20;

/**
 * Replicas whose containers may still run on nodes that are lost or removed. Of a deleted deployment they are cleared
 * last, together with it, so that its last event can name what was left behind.
 */
function listAbandoned(steps: readonly SlotStep[]): readonly ObservedReplica[] {
  const clears = steps.flatMap(step => (step.kind === 'clear' ? [step.seen] : []));
  return clears.filter(({ lost, node }) => lost !== undefined || node === 'gone').slice(0, ABANDONED_AT_ONCE);
}

function without(steps: readonly SlotStep[], held: readonly ObservedReplica[]): readonly SlotStep[] {
  return steps.filter(step => step.kind !== 'clear' || !held.includes(step.seen));
}

function isMove(step: SlotStep): step is Extract<SlotStep, { readonly kind: 'retire' }> {
  return step.kind === 'retire' && step.because === RESIDENCY_VIOLATED;
}

/** A deployment that is being deleted waits for nothing. */
function isHeld({ deployment }: ObservedDeployment, cache: LoopEnv['cache']): boolean {
  if (!deployment || deployment.metadata.deletedAt) return false;
  return listUnmetDependencies(deployment, cache).length > 0;
}

/** How many replicas the scheduler reports no node for. */
function countRefused({ deployment }: ObservedDeployment, cache: LoopEnv['cache']): number {
  if (!deployment) return 0;
  const { tenant, uid } = deployment.metadata;
  const report = readValue<SchedulingReport>(cache, keys.scheduling(tenant, deployment.name));
  return report?.uid === uid ? report.unplaced : 0;
}

/** Waits for all steps and then throws if one failed: no step may still run when the reconcile ends. */
async function waitForAll(steps: readonly Promise<void>[]): Promise<void> {
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
 * How many replicas of the deployment the nodes would take beyond those that wait already, at most as many as are lost or
 * leaving; negative when not even those that wait find a node.
 *
 * Lost replicas do not count against the tenant's quotas here: each is deleted when its replacement is created.
 */
function countSpare({ deployment, replicas }: ObservedDeployment, fleet: NodeFleet, sources: PlacementSources): number {
  if (!deployment || deployment.metadata.deletedAt) return 0;
  const { tenant } = deployment.metadata;
  const lost = replicas.filter(seen => seen.lost && !seen.replica.retiringSince).length;
  const leaving = replicas.some(({ draining }) => draining) ? 1 : 0;
  const waiting = replicas.filter(({ replica }) => isWaiting(replica)).length;

  const { requests } = toWorkload(deployment, tenant, sources, fleet.totals);
  const totals = {
    replicas: fleet.totals.replicas - lost,
    cpu: fleet.totals.cpu - lost * (requests.cpu ?? 0),
    memory: fleet.totals.memory - lost * (requests.memory ?? 0),
  };
  const placement = fleet.place(lost + leaving + waiting, toWorkload(deployment, tenant, sources, totals));
  return placement.nodes.length - waiting;
}

/** The change that makes one step, guarded by everything that the step was decided on. */
function buildStep(
  step: SlotStep,
  { deployment, unchanged }: ObservedDeployment,
  events: readonly Put[],
  env: LoopEnv,
): Change {
  const now = new Date(env.clock.now()).toISOString();
  if (step.kind === 'fill') {
    const replica = newReplica(step.slot, deployment!, env.random.uuid(), now);
    const key = keys.replica(replica.tenant, replica.deployment, step.slot);
    return { guards: [{ key, at: 0 }, unchanged], puts: [{ key, bytes: encode(replica) }], deletes: [] };
  }
  const { replica, revision, lost } = step.seen;
  const key = keys.replica(replica.tenant, replica.deployment, replica.slot);
  const guards = [{ key, at: revision }, unchanged];
  if (step.kind === 'retire') {
    const retiring: Replica = { ...replica, retiringSince: now };
    return { guards, puts: [{ key, bytes: encode(retiring) }, ...events], deletes: [] };
  }
  // The report is deleted with the replica: the API takes no later report of it. A replica on a lost node is deleted only
  // while the node is still lost: an agent that has returned manages it again.
  const reports = replica.nodeId ? [keys.report(replica.tenant, replica.nodeId, replica.uid)] : [];
  return { guards: [...guards, ...(lost ? [lost.still] : [])], puts: [], deletes: [key, ...reports] };
}

function newReplica(slot: number, deployment: StoredDeployment, uid: string, createdAt: string): Replica {
  return {
    uid,
    tenant: deployment.metadata.tenant,
    deployment: deployment.name,
    deploymentUid: deployment.metadata.uid,
    slot,
    generation: deployment.metadata.generation,
    templateHash: computeTemplateHash(deployment),
    template: toContainerTemplate(deployment),
    createdAt,
  };
}

/** The event of replicas that are moved because their nodes break the residency. */
function draftResidencyEvent(moved: readonly ObservedReplica[]): EventDraft {
  const { tenant, deployment, deploymentUid } = moved[0]!.replica;
  const replicas = moved.map(({ replica }) => ({ replica: replica.slot, nodeId: replica.nodeId ?? null }));
  const slots = replicas.map(({ replica }) => replica).join(', ');
  const who = replicas.length === 1 ? `Replica ${slots} is on a node` : `Each of replicas ${slots} is on a node`;
  return {
    type: 'deployment.residency_violated',
    tenant,
    subject: { kind: 'Deployment', name: deployment, id: deploymentUid },
    severity: 'warning',
    reason: RESIDENCY_VIOLATED,
    message: `${who} that breaks the residency of the deployment, and is moved to another node.`,
    data: { replicas },
  };
}

/** The change that deletes a deployment, with its status, its scheduling report and the replicas that are abandoned. */
async function removeDeployment(
  { tenant, name }: ObjectName,
  reading: ObservedDeployment,
  abandoned: readonly ObservedReplica[],
  env: LoopEnv,
): Promise<Change> {
  const { deployment, unchanged } = reading;
  const clears = abandoned.map(seen => buildStep({ kind: 'clear', seen }, reading, [], env));
  const nodes = [
    ...new Set(abandoned.map(({ replica, lost }) => (lost ? splitKey(lost.still.key)[1]! : replica.nodeId!))),
  ];
  const event = await env.events.put({
    type: 'deployment.deleted',
    tenant,
    subject: { kind: 'Deployment', name, id: deployment!.metadata.uid },
    reason: 'deleted',
    message:
      abandoned.length === 0
        ? 'The deployment and all its containers were removed.'
        : `The deployment was removed. Containers may be left behind on ${nodes.join(', ')}: the agent there did not confirm their removal. It removes them when it returns.`,
    ...(abandoned.length > 0 && { severity: 'warning' as const, data: { leftBehind: nodes } }),
  });
  return {
    guards: [unchanged, ...clears.flatMap(({ guards }) => guards.filter(({ key }) => key !== unchanged.key))],
    puts: [event],
    deletes: [
      keys.deployment(tenant, name),
      keys.status(tenant, name),
      keys.scheduling(tenant, name),
      ...clears.flatMap(({ deletes }) => deletes),
    ],
  };
}
