import type { DeploymentStatus, ReplicaStatus, StoredDeployment } from '../../crds/deployment/index.js';
import { withoutOutput } from '../../crds/report/index.js';
import { explainNotMoved, explainTrouble, type ObservedReplica } from '../reading/index.js';
import type { SummaryInput } from './summary.js';

/** So many replicas carry output in a status: those of one template fail alike, and a status is read by every watch. */
const OUTPUTS_MAX = 4;

/** The replicas of a deployment as its status shows them. */
export function toReplicaStatuses({ deployment, replicas, now }: SummaryInput): readonly ReplicaStatus[] {
  let outputs = 0;
  return replicas.map(seen => {
    const { lastEnd, failedCheck } = seen.report ?? {};
    const hasOutput = [lastEnd?.output, failedCheck?.output, failedCheck?.log].some(text => text !== undefined);
    if (hasOutput) outputs++;
    return toReplicaStatus(seen, deployment, { now, withOutput: outputs <= OUTPUTS_MAX });
  });
}

function toReplicaStatus(
  seen: ObservedReplica,
  deployment: StoredDeployment,
  { now, withOutput }: { readonly now: string; readonly withOutput: boolean },
): ReplicaStatus {
  const { replica, report, node, nodeName } = seen;
  const isKnown = report !== undefined && node === 'well';
  const { reason, message } = explainTrouble(seen, now) ?? {};
  const notMoved = explainNotMoved(seen, deployment);
  const since = replica.retiringSince ?? (isKnown ? report.since : seen.nodeSince);
  const { lastEnd, failedCheck, retry, user, pull } = report ?? {};
  return {
    replica: replica.slot,
    nodeId: replica.nodeId ?? null,
    ...(nodeName !== undefined && { nodeName }),
    state: describeState(seen),
    health: report && !isKnown ? 'unknown' : (report?.health ?? 'none'),
    restarts: report?.restarts ?? 0,
    containerId: report?.containerId ?? null,
    image: replica.template.image,
    generation: replica.generation,
    ...(user !== undefined && { user }),
    ...(since !== undefined && { since }),
    ...(reason !== undefined && { reason, message: message! }),
    ...(lastEnd && { lastEnd: withOutput ? lastEnd : withoutOutput(lastEnd) }),
    ...(failedCheck && isKnown && { failedCheck: withOutput ? failedCheck : withoutOutput(failedCheck) }),
    ...(retry && isKnown && { retry }),
    ...(pull && isKnown && { pull }),
    ...(notMoved !== undefined && { notMoved }),
  };
}

/** The replicas, each with the name of its node: that of a deleted one is known from the status before. */
export function nameNodes(
  replicas: readonly ObservedReplica[],
  previous: DeploymentStatus | undefined,
): readonly ObservedReplica[] {
  return replicas.map(seen => {
    if (seen.node !== 'gone') return seen;
    const { nodeName } = previous?.placements.find(({ nodeId }) => nodeId === seen.replica.nodeId) ?? {};
    return nodeName === undefined ? seen : { ...seen, nodeName };
  });
}

function describeState({ replica, report, node }: ObservedReplica): string {
  if (node === 'failed' || node === 'gone' || node === 'unobserved') return 'unknown';
  if (replica.retiringSince && report?.state !== 'removed') return 'stopping';
  if (node === 'nowhere') return 'unplaced';
  return report?.state ?? 'assigned';
}
