import type { StoredDeployment } from '../../crds/deployment/index.js';
import { templateHash } from '../../crds/replica/index.js';
import type { Scheduling } from '../../crds/scheduling/index.js';
import { isServing, type SeenReplica } from '../reading/index.js';

/** How the replicas of one deployment stand, counted. Everything in a status follows from it. */
export interface Standing {
  readonly wanted: number;
  /** Records there are, retiring ones included. */
  readonly records: number;
  /** Replicas of the present template that are to stay. */
  readonly updated: readonly SeenReplica[];
  /** Replicas that are to stay for now and serve, of whatever template. */
  readonly serving: number;
  /** Replicas to stay whose container is in trouble. */
  readonly failing: readonly SeenReplica[];
  readonly placed: number;
  /** Replicas that are on their way out, or made from an older template. */
  readonly leaving: number;
  /** Some replica, staying or leaving, is made from an older template. */
  readonly rolling: boolean;
  /** Why replicas wait for a node, while some do. */
  readonly refused: Scheduling | undefined;
}

/** Counts. */
export function standingOf(
  deployment: StoredDeployment,
  replicas: readonly SeenReplica[],
  scheduling: Scheduling | undefined,
): Standing {
  const { uid, deletedAt } = deployment.metadata;
  const present = templateHash(deployment);
  const isPresent = ({ replica }: SeenReplica) => replica.deploymentUid === uid && replica.templateHash === present;
  const staying = replicas.filter(({ replica }) => !replica.retiringSince && replica.deploymentUid === uid);
  const updated = staying.filter(isPresent);
  return {
    wanted: deletedAt ? 0 : deployment.replicas,
    records: replicas.length,
    updated,
    serving: staying.filter(isServing).length,
    failing: staying.filter(isFailing),
    placed: staying.filter(({ node }) => node !== 'nowhere').length,
    leaving: replicas.length - updated.length,
    rolling: replicas.some(seen => !isPresent(seen)),
    refused: scheduling?.uid === uid ? scheduling : undefined,
  };
}

/** Whether all that is asked for is there and serves, and nothing else is left. */
export function isComplete({ wanted, updated, leaving }: Standing): boolean {
  return leaving === 0 && updated.length === wanted && updated.every(isServing);
}

/** Whether the container is in trouble, as opposed to not being there yet. */
function isFailing({ node, report }: SeenReplica): boolean {
  if (node === 'failed') return true;
  return report?.state === 'failed' || report?.state === 'exited' || report?.health === 'unhealthy';
}
