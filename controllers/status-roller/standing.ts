import type { Unresolved } from '../../crds/delivery/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import { isResolved, templateHash } from '../../crds/replica/index.js';
import type { Scheduling } from '../../crds/scheduling/index.js';
import { isServing, type SeenReplica, type UnmetDependency } from '../reading/index.js';

/** How the replicas of one deployment stand, counted. Everything in a status follows from it. */
export interface Standing {
  readonly wanted: number;
  /** Records there are, retiring ones included. */
  readonly records: number;
  /** Replicas of the present template that are to stay. */
  readonly updated: readonly SeenReplica[];
  /** Replicas that are to stay for now, of whatever template. */
  readonly staying: readonly SeenReplica[];
  /** Those of them that serve. */
  readonly serving: number;
  /** Those of them whose container is in trouble. */
  readonly failing: readonly SeenReplica[];
  /** Those of them that have a node. */
  readonly placed: number;
  /** Replicas that are on their way out, or made from an older template. */
  readonly leaving: number;
  /** Some replica, staying or leaving, is made from an older template. */
  readonly rolling: boolean;
  /** Why replicas wait for a node, while some do. */
  readonly refused: Scheduling | undefined;
  /** Replicas, leaving ones included, that are where their data may not be. */
  readonly misplaced: readonly SeenReplica[];
  readonly unmet: readonly UnmetDependency[];
  /** Why replicas have no secrets, while some have none. */
  readonly unresolved: Unresolved | undefined;
  /** Those of the staying replicas whose secrets were not looked up yet, or not found. */
  readonly unstamped: number;
}

/** What a standing is counted from. */
export interface StandingFacts {
  readonly deployment: StoredDeployment;
  readonly replicas: readonly SeenReplica[];
  /** Why replicas wait for a node, if the scheduler has said so. */
  readonly scheduling: Scheduling | undefined;
  /** What the deployment depends on and what does not hold. */
  readonly unmet: readonly UnmetDependency[];
  /** Why replicas have no secrets, if the secret resolver has said so. */
  readonly unresolved?: Unresolved | undefined;
}

/** Counts. */
export function standingOf({ deployment, replicas, scheduling, unmet, unresolved }: StandingFacts): Standing {
  const { uid, deletedAt } = deployment.metadata;
  const wanted = deletedAt ? 0 : deployment.replicas;
  const present = templateHash(deployment);
  const isPresent = ({ replica }: SeenReplica) => replica.deploymentUid === uid && replica.templateHash === present;
  const own = replicas.filter(({ replica }) => !replica.retiringSince && replica.deploymentUid === uid);
  // One more than asked for may be there while a node is emptied, and has its say only when it serves.
  const staying = [...own.filter(isServing), ...own.filter(seen => !isServing(seen))].slice(0, wanted);
  const updated = staying.filter(isPresent);
  return {
    wanted,
    records: replicas.length,
    updated,
    staying,
    serving: staying.filter(isServing).length,
    failing: staying.filter(isFailing),
    placed: staying.filter(({ node }) => node !== 'nowhere').length,
    leaving: replicas.length - updated.length,
    rolling: replicas.some(seen => !isPresent(seen)),
    refused: scheduling?.uid === uid ? scheduling : undefined,
    misplaced: replicas.filter(({ misplaced, report }) => misplaced && report?.state !== 'removed'),
    unmet,
    unresolved: unresolved?.uid === uid ? unresolved : undefined,
    unstamped: staying.filter(({ replica }) => !isResolved(replica)).length,
  };
}

/** Whether all that is asked for is there and serves, whatever else is still to be removed. */
export function isServed({ wanted, updated }: Standing): boolean {
  return updated.length === wanted && updated.every(isServing);
}

/** Whether all that is asked for is there and serves, and nothing else is left. */
export function isComplete(standing: Standing): boolean {
  return standing.leaving === 0 && isServed(standing);
}

/** Whether the deployment has not started because of what it depends on. */
export function isHeld({ unmet, staying }: Standing): boolean {
  return unmet.length > 0 && staying.length === 0;
}

/** Whether the container is in trouble, as opposed to not being there yet. */
function isFailing({ node, report }: SeenReplica): boolean {
  if (node === 'failed') return true;
  return report?.state === 'failed' || report?.state === 'exited' || report?.health === 'unhealthy';
}
