import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { VolumeStatus } from '../../crds/volume/index.js';
import { isFinished, type JobStatus } from '../../crds/job/index.js';
import { ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import {
  findNode,
  groupByForm,
  isQuotaReached,
  type PlacementPolicy,
  type TenantFleets,
  toCandidate,
  toWorkload,
  withReplica,
} from '../../pkg/fleet/index.js';
import {
  type Candidate,
  isRejectedOtherwise,
  listRejections,
  NodeFleet,
  type Workload,
} from '../../pkg/placement/index.js';
import type { Wake } from '../../pkg/reconcile/index.js';
import { type Cache, type CacheChange, value } from '../../pkg/store/index.js';
import {
  deriveQueueKey,
  formatQueueKey,
  isOfFirstPass,
  isWaiting,
  readChange,
  readWorkload,
} from '../reading/index.js';

/** A deployment with replicas that wait for a node, and the report about them. */
interface WaitingDeployment {
  readonly deployment: StoredDeployment;
  /** The deployment as each of its replicas that wait asks for a node. */
  readonly asked: readonly StoredDeployment[];
  readonly report: SchedulingReport;
}

/** The same with what those replicas ask for, whatever the tenant uses. */
interface WaitingWorkloads extends WaitingDeployment {
  readonly workloads: readonly Workload[];
}

/** Wakes a deployment when one of its replicas begins or ceases to wait for a node. */
export const wakeOnWaitingReplica: Wake = {
  prefix: ranges.replicas,
  keys: ({ key, entry, previous }) =>
    [entry, previous].some(each => each && isWaiting(value<Replica>(each))) ? [deriveQueueKey(key)] : [],
};

/**
 * Wakes the waiting deployments of the tenant for which a changed node gives other reasons than before. A node that is
 * enrolled or removed wakes all of them, because their reports name every node.
 */
export function wakeOnCandidateChange(policy: PlacementPolicy): Wake {
  return {
    prefix: ranges.nodes,
    keys: (change, cache) => {
      const { after, before } = readChange<StoredNode>(change);
      if (!after || !before) return wakeWaiting(change, cache);
      const [now, then] = [toCandidate(after, cache), toCandidate(before, cache)];
      return wakeWaiting(change, cache, ({ asked }) =>
        asked.some(spec => {
          const workload = toOwnWorkload(spec, cache, policy);
          return describeRejections(now, workload) !== describeRejections(then, workload);
        }),
      );
    },
  };
}

/** Wakes the waiting deployments of the tenant when the status of a node changes, or is about another node by now. */
export const wakeOnReadinessChange: Wake = {
  prefix: ranges.nodeStatuses,
  keys: (change, cache) => {
    const { after, before } = readChange<NodeStatus>(change);
    const matters = (['id', 'status', 'unobservedSince'] as const).some(at => after?.[at] !== before?.[at]);
    return matters ? wakeWaiting(change, cache) : [];
  },
};

/**
 * Wakes the waiting deployments for which a replica that was placed or deleted changes who refuses them: its node, or
 * a quota. What their status says is then what an explanation says.
 */
export function wakeOnLoadChange(policy: PlacementPolicy, fleets: (cache: Cache) => TenantFleets): Wake {
  const waitingIn = shareWaiting(policy);
  return {
    prefix: ranges.replicas,
    keys: (change, cache) => {
      const { after, before } = readChange<Replica>(change);
      const isPlaced = after?.nodeId !== undefined && before?.nodeId === undefined;
      const isDeleted = before?.nodeId !== undefined && after?.uid !== before.uid;
      const moved = isPlaced ? after : isDeleted ? before : undefined;
      if (!moved) return [];
      const all = waitingIn(change, cache);
      if (all.length === 0) return []; // as a rule: most placements concern no other deployment
      const node = findNode(moved.nodeId!, moved.tenant, cache);
      const candidate = node && toCandidate(node, cache);
      const former = candidate && withReplica(candidate, moved, isPlaced ? -1 : 1);
      fleets(cache).notice(change);
      const totals = fleets(cache).readTotals(moved.tenant);
      const matters = (waiting: WaitingWorkloads) => {
        const { workloads } = waiting;
        if (workloads.some(each => isQuotaReached(each, totals)) !== waitsForQuota(waiting)) return true;
        // An assumed placement may fail without changing a record: what waits for it is requeued by time.
        if (waitsForQuota(waiting) && fleets(cache).isAssuming(moved.tenant)) return true;
        return workloads.some(each => {
          if (each.antiAffinity.some(term => term.deployment === moved.deployment)) return true;
          return candidate && former && isRejectedOtherwise(former, candidate, each);
        });
      };
      return all.filter(matters).map(toQueueKey);
    },
  };
}

/**
 * Lists the waiting deployments of the tenant that a change is about. The changes of one revision are delivered one by one, when
 * the cache shows all of them: they share one list, or a batch of placements would read every waiting deployment for each.
 */
function shareWaiting(policy: PlacementPolicy): (change: CacheChange, cache: Cache) => readonly WaitingWorkloads[] {
  let shared: { readonly cache: Cache; readonly revision: number } | undefined;
  let lists = new Map<string, readonly WaitingWorkloads[]>();
  return (change, cache) => {
    if (isOfFirstPass(change, cache)) return [];
    if (shared?.cache !== cache || shared.revision !== cache.revision) {
      shared = { cache, revision: cache.revision };
      lists = new Map();
    }
    const [tenant = ''] = splitKey(change.key);
    const known = lists.get(tenant);
    if (known) return known;
    const list = listWaiting(change, cache).map(waiting => ({
      ...waiting,
      workloads: waiting.asked.map(spec => toOwnWorkload(spec, cache, policy)),
    }));
    lists.set(tenant, list);
    return list;
  };
}

const waitsForQuota = ({ report }: WaitingDeployment) => report.refusing.includes('quota');

/** Wakes the deployments that wait for a node when the record of their tenant changes: a quota may have become one more cause, or none. */
export const wakeOnTenantChange: Wake = {
  prefix: ranges.tenants,
  keys: (change, cache) => wakeWaiting(change, cache),
};

/** Wakes those that wait for a quota when another deployment or job is removed. */
export function wakeOnRemoval(prefix: string): Wake {
  return {
    prefix,
    keys: (change, cache) => (change.entry === undefined ? wakeWaiting(change, cache, waitsForQuota) : []),
  };
}

/** Wakes those that wait for a quota when a job has come to its end. */
export const wakeOnEndedJob: Wake = {
  prefix: ranges.jobStatuses,
  keys: (change, cache) => {
    const { after, before } = readChange<JobStatus>(change);
    const hasEnded = after !== undefined && isFinished(after) && !(before && isFinished(before));
    return hasEnded ? wakeWaiting(change, cache, waitsForQuota) : [];
  },
};

/** Wakes the waiting deployments that the anti-affinity of a changed deployment names, or named before. */
export const wakeOnAntiAffinityChange: Wake = {
  prefix: ranges.deployments,
  keys: (change, cache) => {
    const { after, before } = readChange<StoredDeployment>(change);
    const named = [after, before].flatMap(each => each?.placement?.antiAffinity?.deployments ?? []);
    return named.length === 0 ? [] : wakeWaiting(change, cache, ({ deployment }) => named.includes(deployment.name));
  },
};

/** Wakes the waiting deployments that join a network when that is created or deleted. */
export const wakeOnNetworkChange: Wake = {
  prefix: ranges.networks,
  keys: (change, cache) => {
    const name = splitKey(change.key)[1]!;
    return wakeWaiting(change, cache, ({ asked }) => asked.some(({ networks }) => networks?.includes(name)));
  },
};

/** Wakes the waiting deployments that mount a volume when that gets its node, is provided by it again, or is gone. */
export const wakeOnVolumeChange: Wake = {
  prefix: ranges.volumeStatuses,
  keys: (change, cache) => {
    const { after, before } = readChange<VolumeStatus>(change);
    const isPromoted = before?.phase === 'Promoting' && after?.phase !== 'Promoting';
    const isOrdered = after?.finalFor !== before?.finalFor;
    const isProvided = before?.reason === 'volume_refused' && after?.reason !== 'volume_refused';
    if (after?.primaryNode === before?.primaryNode && !isPromoted && !isOrdered && !isProvided) return [];
    const id = splitKey(change.key)[1]!;
    return wakeWaiting(change, cache, ({ asked }) =>
      asked.some(({ volumes }) => volumes?.some(({ volumeId }) => volumeId === id)),
    );
  },
};

/** The queue keys of the tenant's waiting deployments that `matters` selects. */
function wakeWaiting(
  change: CacheChange,
  cache: Cache,
  matters: (waiting: WaitingDeployment) => boolean = () => true,
): readonly string[] {
  return listWaiting(change, cache).filter(matters).map(toQueueKey);
}

/** The waiting deployments of the tenant that a change is about. */
function listWaiting(change: CacheChange, cache: Cache): readonly WaitingDeployment[] {
  if (isOfFirstPass(change, cache)) return [];
  const [tenant = ''] = splitKey(change.key);
  return cache.list(ranges.of(ranges.schedulings, tenant)).flatMap(entry => {
    const { deployment, replicas } = readWorkload({ tenant, name: splitKey(entry.key)[1]! }, cache);
    if (!deployment) return [];
    const waiting = replicas.filter(({ replica }) => isWaiting(replica));
    const asked = groupByForm(deployment, waiting, cache).map(({ spec }) => spec);
    return [{ deployment, asked, report: value<SchedulingReport>(entry) }];
  });
}

function toQueueKey({ deployment }: WaitingDeployment): string {
  return formatQueueKey({ tenant: deployment.metadata.tenant, name: deployment.name });
}

const NO_TOTALS = new NodeFleet().totals;

/** The workload without the tenant's usage: quotas are checked apart. */
function toOwnWorkload(deployment: StoredDeployment, cache: Cache, policy: PlacementPolicy): Workload {
  return toWorkload(deployment, deployment.metadata.tenant, { cache, policy }, NO_TOTALS);
}

/** Every reason of the node in one text. Empty when it would take the workload. */
function describeRejections(node: Candidate, workload: Workload): string {
  const reasons = listRejections(node, workload, new NodeFleet([node]).countTopology(workload));
  return reasons.map(({ filter, reported }) => `${filter} ${reported}`).join('\n');
}
