import {
  type CanarySide,
  type CanaryStatus,
  getCanaryHold,
  getCanarySize,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import { type CanaryRecord, isOfPresent } from '../../crds/rollout/index.js';
import { isServing, type ObservedReplica } from '../reading/index.js';
import { listUnmet, type ReplicaSummary } from './summary.js';

/** The canary of a deployment while it is held: which replicas, what is compared, and what it waits for. */
export function toCanaryStatus(
  deployment: StoredDeployment,
  replicas: readonly ObservedReplica[],
  canary: CanaryRecord,
  { failed, unmet }: Pick<ReplicaSummary, 'failed' | 'unmet'>,
): CanaryStatus {
  const hasFailed = failed !== undefined || canary.hasFailed === true;
  const { uid } = deployment.metadata;
  const own = replicas.filter(({ replica }) => replica.deploymentUid === uid && !replica.retiringSince);
  const next = own.filter(({ replica }) => isOfPresent(replica, deployment, canary.baseline));
  const { startedAt: since, revision, healthy } = canary;
  const hold = getCanaryHold(deployment);
  const ends = Date.parse(healthy?.since ?? '') + (hold ?? NaN);
  const promotesAt = Number.isFinite(ends) && !hasFailed ? new Date(ends).toISOString() : undefined;
  const state = hasFailed ? 'failed' : healthy ? 'holding' : 'starting';
  return {
    state,
    revision,
    slots: next.map(({ replica }) => replica.slot),
    wanted: getCanarySize(deployment).next,
    since,
    ...(healthy && { healthySince: healthy.since }),
    ...(promotesAt !== undefined && { promotesAt }),
    compared: { canary: toSide(next), others: toSide(own.filter(seen => !next.includes(seen))) },
    waitsFor: describeWait(deployment, state, { promotesAt, unmet }),
  };
}

function toSide(replicas: readonly ObservedReplica[]): CanarySide {
  const codes = replicas.flatMap(({ report }) => (report?.lastEnd ? [report.lastEnd.exitCode] : []));
  return {
    replicas: replicas.length,
    ready: replicas.filter(isServing).length,
    unhealthy: replicas.filter(({ report }) => report?.health === 'unhealthy').length,
    restarts: replicas.reduce((sum, { report }) => sum + (report?.restarts ?? 0), 0),
    exitCodes: [...new Set(codes)].sort((a, b) => a - b),
  };
}

function describeWait(
  { name, rollout }: StoredDeployment,
  state: CanaryStatus['state'],
  { promotesAt, unmet }: Pick<ReplicaSummary, 'unmet'> & { readonly promotesAt: string | undefined },
): string {
  const order = `"moor canary promote ${name}" or "moor canary abort ${name}"`;
  if (rollout?.paused === true)
    return `"moor rollout resume ${name}", because it is paused; it is not judged meanwhile`;
  if (state === 'failed') return `an order, because it has failed: ${order}`;
  if (unmet.length > 0) return `${listUnmet(unmet)}; it is not judged meanwhile`;
  if (state === 'starting') return 'its replicas to become ready';
  return promotesAt === undefined
    ? `an order: ${order}`
    : `the end of its hold at ${promotesAt}, or an order: ${order}`;
}
