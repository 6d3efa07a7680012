import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, type ObjectName, splitKey } from '../../crds/keys/index.js';
import { computeTemplateHash, type Replica, toContainerTemplate } from '../../crds/replica/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { putFormerDeployment } from '../../pkg/history/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Put } from '../../pkg/store/index.js';
import { isJoined } from '../../pkg/trace/index.js';
import type { ObservedDeployment, ObservedReplica } from '../reading/index.js';
import { RESIDENCY_VIOLATED, type SlotStep } from './decide.js';

/** Replicas on lost nodes that are cleared with their deployment: well below what the store takes in one transaction. */
const ABANDONED_AT_ONCE = 20;

/**
 * Replicas whose containers may still run on nodes that are lost or removed. Of a deleted deployment they are cleared
 * last, together with it, so that its last event can name what was left behind.
 */
export function listAbandoned(steps: readonly SlotStep[]): readonly ObservedReplica[] {
  const clears = steps.flatMap(step => (step.kind === 'clear' ? [step.seen] : []));
  return clears.filter(({ lost, node }) => lost !== undefined || node === 'gone').slice(0, ABANDONED_AT_ONCE);
}

export function omitHeld(steps: readonly SlotStep[], held: readonly ObservedReplica[]): readonly SlotStep[] {
  return steps.filter(step => step.kind !== 'clear' || !held.includes(step.seen));
}

export function isMove(step: SlotStep): step is Extract<SlotStep, { readonly kind: 'retire' }> {
  return step.kind === 'retire' && step.because === RESIDENCY_VIOLATED;
}

/** One line of the log for each step. */
export function logStep(step: SlotStep, log: LoopEnv['log']): void {
  if (step.kind === 'fill') log.info('replica created', { slot: step.slot });
  else if (step.kind === 'retire')
    log.info('replica retired', { replica: step.seen.replica.uid, because: step.because });
  else log.info('replica cleared', { replica: step.seen.replica.uid });
}

/** The change that makes one step, guarded by everything that the step was decided on. */
export function buildStep(
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
  const namedNode = like ? like.namedNode : deployment.nodeId;
  const { traceparent, updatedAt } = deployment.metadata;
  const isTraced = traceparent !== undefined && isJoined(updatedAt, Date.parse(createdAt));
  return {
    uid,
    tenant: deployment.metadata.tenant,
    deployment: deployment.name,
    deploymentUid: deployment.metadata.uid,
    slot,
    generation: deployment.metadata.generation,
    templateHash: like?.templateHash ?? computeTemplateHash(deployment),
    template: like?.template ?? toContainerTemplate(deployment),
    ...(namedNode !== undefined && { namedNode }),
    createdAt,
    ...(isTraced && { traceparent }),
  };
}

/** The event of replicas that are moved because their nodes break the residency. */
export function draftResidencyEvent(moved: readonly ObservedReplica[]): EventDraft {
  const { tenant, deployment, deploymentUid } = moved[0]!.replica;
  const replicas = moved.map(({ replica }) => ({
    replica: replica.slot,
    generation: replica.generation,
    nodeId: replica.nodeId ?? null,
  }));
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
export async function removeDeployment(
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
      keys.canaryOrder(tenant, name),
      keys.scalingPolicy(tenant, name),
      keys.scaling(tenant, name),
      ...clears.flatMap(({ deletes }) => deletes),
    ],
  };
}
