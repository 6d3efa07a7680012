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
 * The report is deleted with the replica: a later report finds no replica. A replica on a lost node is cleared only while the
 * node is still lost: an agent that has returned manages it again.
 */
function clear({ replica, revision, lost }: ObservedReplica, unchanged: Guard): Change {
  const key = keys.replica(replica.tenant, replica.deployment, replica.slot);
  const reports = replica.nodeId ? [keys.report(replica.tenant, replica.nodeId, replica.uid)] : [];
  const guards = [{ key, at: revision }, unchanged, ...(lost ? [lost.still] : [])];
  return { guards, puts: [], deletes: [key, ...reports] };
}

/** The event of replicas that are moved because their nodes break the residency. */
export function draftResidencyEvent(moved: readonly ObservedReplica[]): EventDraft {
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

/** The change that deletes a deployment without replicas, with its status and its scheduling report. */
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
    message: 'The deployment and all its containers were removed.',
  });
  return {
    guards: [unchanged],
    puts: [event],
    deletes: [keys.deployment(tenant, name), keys.status(tenant, name), keys.scheduling(tenant, name)],
  };
}
