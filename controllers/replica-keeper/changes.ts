import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, type ObjectName } from '../../crds/keys/index.js';
import { containerTemplate, type Replica, templateHash } from '../../crds/replica/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Guard, type Put } from '../../pkg/store/index.js';
import type { ObservedDeployment, ObservedReplica } from '../reading/index.js';
import { RESIDENCY_VIOLATED, type SlotStep } from './decide.js';

/** The change that makes one step, guarded by everything that the step was decided on, with the events it is worth. */
export function buildStep(
  step: SlotStep,
  reading: ObservedDeployment,
  env: LoopEnv,
  events: readonly Put[] = [],
): Change {
  const change = bareChange(step, reading, env);
  return { ...change, puts: [...change.puts, ...events] };
}

function bareChange(step: SlotStep, reading: ObservedDeployment, env: LoopEnv): Change {
  if (step.kind === 'clear') return clear(step.seen, reading.unchanged);
  if (step.kind === 'retire') return retire(step.seen, reading.unchanged, env);
  return fill(step.slot, reading, env);
}

function fill(slot: number, { deployment, unchanged }: ObservedDeployment, env: LoopEnv): Change {
  const replica = newReplica(slot, deployment!, env);
  const key = keys.replica(replica.tenant, replica.deployment, slot);
  return { guards: [{ key, at: 0 }, unchanged], puts: [{ key, bytes: encode(replica) }], deletes: [] };
}

function newReplica(slot: number, deployment: StoredDeployment, { clock, random }: LoopEnv): Replica {
  return {
    uid: random.uuid(),
    tenant: deployment.metadata.tenant,
    deployment: deployment.name,
    deploymentUid: deployment.metadata.uid,
    slot,
    generation: deployment.metadata.generation,
    templateHash: templateHash(deployment),
    template: containerTemplate(deployment),
    createdAt: new Date(clock.now()).toISOString(),
  };
}

function retire({ replica, revision }: ObservedReplica, unchanged: Guard, { clock }: LoopEnv): Change {
  const key = keys.replica(replica.tenant, replica.deployment, replica.slot);
  const retiring: Replica = { ...replica, retiringSince: new Date(clock.now()).toISOString() };
  return { guards: [{ key, at: revision }, unchanged], puts: [{ key, bytes: encode(retiring) }], deletes: [] };
}

/**
 * The report goes with the replica: an agent that repeats itself later finds no replica to report of. What was lost is
 * given up only while its node still is: an agent that has come back looks after it again.
 */
function clear({ replica, revision, lost }: ObservedReplica, unchanged: Guard): Change {
  const key = keys.replica(replica.tenant, replica.deployment, replica.slot);
  const reports = replica.nodeId ? [keys.report(replica.tenant, replica.nodeId, replica.uid)] : [];
  const guards = [{ key, at: revision }, unchanged, ...(lost ? [lost.still] : [])];
  return { guards, puts: [], deletes: [key, ...reports] };
}

/** Says that replicas are taken away because their nodes are not, or no longer, where their data may be. */
export function draftResidencyEvent(moved: readonly ObservedReplica[]): EventDraft {
  const { tenant, deployment, deploymentUid } = moved[0]!.replica;
  const replicas = moved.map(({ replica }) => ({ replica: replica.slot, nodeId: replica.nodeId ?? null }));
  const slots = replicas.map(({ replica }) => replica).join(', ');
  return {
    type: 'deployment.residency_violated',
    tenant,
    subject: { kind: 'Deployment', name: deployment, id: deploymentUid },
    severity: 'warning',
    reason: RESIDENCY_VIOLATED,
    message: `Replicas ${slots} are on nodes that break the residency of the deployment: they are moved.`,
    data: { replicas },
  };
}

/** The change that removes a deployment of which nothing is left, with all that was said about it. */
export async function removeDeployment(
  { tenant, name }: ObjectName,
  { deployment, unchanged }: ObservedDeployment,
  env: LoopEnv,
): Promise<Change> {
  const event = await env.events.put({
    type: 'deployment.deleted',
    tenant,
    subject: { kind: 'Deployment', name, id: deployment!.metadata.uid },
    reason: 'deleted',
    message: 'The deployment and all its containers are gone.',
  });
  return {
    guards: [unchanged],
    puts: [event],
    deletes: [keys.deployment(tenant, name), keys.status(tenant, name), keys.scheduling(tenant, name)],
  };
}
