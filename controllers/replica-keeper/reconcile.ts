import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, type ObjectName, splitKey } from '../../crds/keys/index.js';
import { toContainerTemplate, type Replica, computeTemplateHash } from '../../crds/replica/index.js';
import type { Reason } from '../../crds/reasons/index.js';
import type { RolloutRecord } from '../../crds/rollout/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { type PlacementPolicy, type PlacementSources, TenantFleets, toWorkload } from '../../pkg/fleet/index.js';
import { putFormerDeployment } from '../../pkg/history/index.js';
import type { NodeFleet } from '../../pkg/placement/index.js';
import { again, done, type LoopEnv, type Reconcile } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Put, readValue, value } from '../../pkg/store/index.js';
import {
  isWaiting,
  listUnmetDependencies,
  type ObservedDeployment,
  type ObservedReplica,
  parseQueueKey,
  readDeployment,
} from '../reading/index.js';
import { decideReplicas, type KeeperInput, RESIDENCY_VIOLATED, type SlotStep } from './decide.js';
import { judgeRollout, type RolloutJudgement } from './judge-rollout.js';
import { recordComplete, recordFailure, recordRolloutProgress } from './record-rollout.js';

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
    const { steps, finished, settlesInMs } = decide(reading.deployment, reading.replicas, {
      ...readRefusals(reading, env.cache),
      held: isHeld(reading, env.cache),
      spare: fleet ? countSpare(reading, fleet, { cache: env.cache, policy }) : 0,
      now: env.clock.now(),
      settleMs,
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
    const deadlineInMs =
      steps.length === 0 ? await advanceRollout(reading, { settleMs, watchedSince: term.since }, env) : undefined;
    // Capacity that becomes free on other nodes does not wake this deployment.
    if (isUprooted) return again(UPROOTED_MS, 'replicas wait for another node');
    const next = Math.min(settlesInMs ?? Infinity, deadlineInMs ?? Infinity);
    return Number.isFinite(next) ? again(next, 'a rollout waits for its replicas') : done;
  };
}

/** Records that a rollout is complete, has failed or has come further. Answers when its deadline is over, while it is neither. */
async function advanceRollout(
  { deployment, replicas, unchanged }: ObservedDeployment,
  times: Pick<RolloutJudgement, 'settleMs' | 'watchedSince'>,
  env: LoopEnv,
): Promise<number | undefined> {
  if (!deployment) return undefined;
  const { tenant, uid } = deployment.metadata;
  const stored = env.cache.get(keys.rollout(tenant, deployment.name));
  const known = stored && value<RolloutRecord>(stored);
  const record = known?.uid === uid ? known : undefined;
  const now = env.clock.now();
  const scheduling = readValue<SchedulingReport>(env.cache, keys.scheduling(tenant, deployment.name));
  const held = isHeld({ deployment }, env.cache);
  const refused = scheduling?.uid === uid ? scheduling.summary : undefined;
  const verdict = judgeRollout({ deployment, replicas, record, held, refused, now, ...times });
  if (verdict.kind === 'open') return verdict.inMs;

  const subject = { deployment, unchanged, stored, record };
  if (verdict.kind === 'complete') {
    await env.commit(recordComplete(subject, now));
    return undefined;
  }
  if (verdict.kind !== 'failed') {
    const isWaiting = verdict.kind === 'waits';
    await env.commit(recordRolloutProgress(subject, isWaiting ? undefined : verdict.progress));
    return isWaiting ? undefined : verdict.inMs;
  }
  await env.commit(await recordFailure(subject, verdict.failure, env));
  const { revision, reason: code } = verdict.failure;
  env.log.warn('rollout failed', { tenant, deployment: deployment.name, revision, code });
  return undefined;
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
function isHeld({ deployment }: Pick<ObservedDeployment, 'deployment'>, cache: LoopEnv['cache']): boolean {
  if (!deployment || deployment.metadata.deletedAt) return false;
  return listUnmetDependencies(deployment, cache).length > 0;
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
  const { refusing = report.filters, unplaced } = report;
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
    const replica = newReplica(step, deployment!, env.random.uuid(), now);
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

/** The generation is always the present one: an agent accepts no older one of a slot than it has seen. */
function newReplica(
  { slot, like }: Extract<SlotStep, { readonly kind: 'fill' }>,
  deployment: StoredDeployment,
  uid: string,
  createdAt: string,
): Replica {
  return {
    uid,
    tenant: deployment.metadata.tenant,
    deployment: deployment.name,
    deploymentUid: deployment.metadata.uid,
    slot,
    generation: deployment.metadata.generation,
    templateHash: like?.templateHash ?? computeTemplateHash(deployment),
    template: like?.template ?? toContainerTemplate(deployment),
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
    puts: [event, putFormerDeployment(env.cache, deployment!)],
    deletes: [
      keys.deployment(tenant, name),
      keys.status(tenant, name),
      keys.scheduling(tenant, name),
      keys.rollout(tenant, name),
      ...clears.flatMap(({ deletes }) => deletes),
    ],
  };
}
