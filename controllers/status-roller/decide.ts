import { isDeepStrictEqual } from 'node:util';

import type { DeploymentStatus, ReplicaStatus, StoredDeployment } from '../../crds/deployment/index.js';
import type { ObservedReplica } from '../reading/index.js';
import { buildConditions } from './conditions.js';
import { derivePhase, type SummaryInput, summariseReplicas } from './summary.js';

/** All that a status is made from. */
export interface StatusInput extends SummaryInput {
  /** Whether residency is enforced. */
  readonly enforced: boolean;
  /** The status that is stored. */
  readonly previous: DeploymentStatus | undefined;
  readonly now: string;
}

/** The status of a deployment. The very object that was given as `previous` when nothing has changed. */
export function rollStatus({ enforced, previous, now, ...facts }: StatusInput): DeploymentStatus {
  const { deployment, replicas } = facts;
  const { uid, generation } = deployment.metadata;
  const own = previous?.uid === uid ? previous : undefined;
  const summary = summariseReplicas(facts);
  const status: DeploymentStatus = {
    uid,
    ...derivePhase(deployment, summary),
    replicas: summary.records,
    readyReplicas: summary.serving,
    updatedReplicas: summary.updated.length,
    observedGeneration: generation,
    secretsVersion: oldestSecrets(deployment, replicas),
    placements: replicas.map(placementOf),
    conditions: buildConditions(deployment, summary, { previous: own?.conditions ?? [], generation, now, enforced }),
  };
  return own && isDeepStrictEqual(own, status) ? own : status;
}

function placementOf({ replica, report, node }: ObservedReplica): ReplicaStatus {
  return {
    replica: replica.slot,
    nodeId: replica.nodeId ?? null,
    state: stateOf({ replica, report, node }),
    health: report?.health ?? 'none',
    restarts: report?.restarts ?? 0,
    containerId: report?.containerId ?? null,
  };
}

function stateOf({ replica, report, node }: Pick<ObservedReplica, 'replica' | 'report' | 'node'>): string {
  if (node === 'failed' || node === 'gone') return 'unknown';
  if (replica.retiringSince && report?.state !== 'removed') return 'stopping';
  if (node === 'nowhere') return 'unplaced';
  return report?.state ?? 'assigned';
}

/** The oldest version that any container may still hold. */
function oldestSecrets({ secretsVersion }: StoredDeployment, replicas: readonly ObservedReplica[]): number {
  return Math.min(secretsVersion, ...replicas.map(({ replica }) => replica.template.secretsVersion));
}
