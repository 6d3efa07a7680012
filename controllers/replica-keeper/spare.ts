import { type PlacementReading, workloadOf } from '../../pkg/fleet/index.js';
import type { Fleet } from '../../pkg/placement/index.js';
import { type DeploymentReading, isWaiting, type SeenReplica } from '../reading/index.js';

/**
 * How many replicas of the deployment nodes would take beside those that wait already, as far as anybody wants to know;
 * negative when not even those that wait find a node.
 *
 * What is lost does not count against the tenant's quotas here: it goes when its replacement comes.
 */
export function spareFor({ deployment, replicas }: DeploymentReading, fleet: Fleet, reading: PlacementReading): number {
  if (!deployment || deployment.metadata.deletedAt) return 0;
  const { tenant } = deployment.metadata;
  const lost = replicas.filter(seen => seen.lost && !seen.replica.retiringSince).length;
  const leaving = replicas.some(({ draining }) => draining) ? 1 : 0;
  const waiting = replicas.filter(({ replica }: SeenReplica) => isWaiting(replica)).length;

  const { requests } = workloadOf(deployment, tenant, reading, fleet.totals);
  const totals = {
    replicas: fleet.totals.replicas - lost,
    cpu: fleet.totals.cpu - lost * (requests.cpu ?? 0),
    memory: fleet.totals.memory - lost * (requests.memory ?? 0),
  };
  const found = fleet.place(lost + leaving + waiting, workloadOf(deployment, tenant, reading, totals));
  return found.nodes.length - waiting;
}
