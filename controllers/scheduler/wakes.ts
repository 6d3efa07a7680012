import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import { toCandidate, NODES_BY_ID, type PlacementPolicy, toWorkload } from '../../pkg/fleet/index.js';
import { type Candidate, NodeFleet, listRejections, type Workload } from '../../pkg/placement/index.js';
import type { Wake } from '../../pkg/reconcile/index.js';
import { type Cache, type CacheChange, value } from '../../pkg/store/index.js';
import { isWaiting, formatQueueKey, deriveQueueKey } from '../reading/index.js';

/** A deployment that was told that it has to wait. */
interface Waiting {
  readonly deployment: StoredDeployment;
  readonly scheduling: SchedulingReport;
}

/** Filters that something can pass because a replica has gone. */
const LOAD = ['anti_affinity', 'port', 'resources', 'quota'];

/** Wakes a deployment when one of its replicas begins or ceases to wait for a node. */
export const wakeOnWaitingReplica: Wake = {
  prefix: ranges.replicas,
  keys: ({ key, entry, previous }) =>
    [entry, previous].some(each => each && isWaiting(value<Replica>(each))) ? [deriveQueueKey(key)] : [],
};

/**
 * Wakes the deployments of the tenant that wait and of which a node now says something else. One that appears or goes
 * concerns all of them, because each names every node.
 */
export function wakeOnCandidateChange(policy: PlacementPolicy): Wake {
  return {
    prefix: ranges.nodes,
    keys: (change, cache) => {
      const { entry, previous } = change;
      if (!isNews(change, cache)) return [];
      if (!entry || !previous) return wake(waitingIn(change, cache));
      const [after, before] = [entry, previous].map(each => toCandidate(value<StoredNode>(each), cache));
      return wake(
        waitingIn(change, cache).filter(({ deployment }) => {
          const workload = workloadFor(deployment, cache, policy);
          return answerOf(after!, workload) !== answerOf(before!, workload);
        }),
      );
    },
  };
}

/** Wakes the deployments of the tenant that wait, when a node begins or ceases to take work, or is another by now. */
export const wakeOnReadinessChange: Wake = {
  prefix: ranges.nodeStatuses,
  keys: (change, cache) => {
    const [after, before] = [change.entry, change.previous].map(each => each && value<NodeStatus>(each));
    const matters = after?.status !== before?.status || after?.id !== before?.id;
    return matters && isNews(change, cache) ? wake(waitingIn(change, cache)) : [];
  },
};

/**
 * Wakes the deployments that wait and that the node of a replica would take, now that the replica is gone; and those that
 * wait for a quota, wherever it was.
 */
export function wakeOnFreedCapacity(policy: PlacementPolicy): Wake {
  return {
    prefix: ranges.replicas,
    keys: (change, cache) => {
      const left = leftIn(change);
      if (!left) return [];
      const node = nodeOf(left, cache);
      const concerned = waitingIn(change, cache).filter(({ deployment, scheduling }) => {
        if (!scheduling.filters.some(filter => LOAD.includes(filter))) return false;
        if (scheduling.filters.includes('quota')) return true;
        if (!node) return false;
        const workload = workloadFor(deployment, cache, policy);
        return (
          workload.antiAffinity.some(apart => apart.deployment === left.deployment) || answerOf(node, workload) === ''
        );
      });
      return wake(concerned);
    },
  };
}

/** Wakes the deployments that wait for a quota of which the tenant may have been given more. */
export const wakeOnTenantChange: Wake = {
  prefix: ranges.tenants,
  keys: (change, cache) =>
    isNews(change, cache)
      ? wake(waitingIn(change, cache).filter(({ scheduling }) => scheduling.filters.includes('quota')))
      : [],
};

/** Wakes the deployments that wait for a quota, when there is one deployment less. */
export const wakeOnDeploymentRemoval: Wake = {
  prefix: ranges.deployments,
  keys: (change, cache) =>
    change.entry === undefined && isNews(change, cache)
      ? wake(waitingIn(change, cache).filter(({ scheduling }) => scheduling.filters.includes('quota')))
      : [],
};

/** Wakes the deployments that wait and that another one kept, or keeps, apart from. */
export const wakeOnAntiAffinityChange: Wake = {
  prefix: ranges.deployments,
  keys: (change, cache) => {
    const named = [change.entry, change.previous].flatMap(each =>
      each ? (value<StoredDeployment>(each).placement?.antiAffinity?.deployments ?? []) : [],
    );
    if (named.length === 0 || !isNews(change, cache)) return [];
    return wake(waitingIn(change, cache).filter(({ deployment }) => named.includes(deployment.name)));
  },
};

/** A new leader looks at everything that waits by its own record: what stands already tells it nothing more. */
function isNews(change: CacheChange, cache: Cache): boolean {
  return change.revision >= cache.revision;
}

function waitingIn({ key }: CacheChange, cache: Cache): readonly Waiting[] {
  const [tenant = ''] = splitKey(key);
  return cache.list(ranges.of(ranges.schedulings, tenant)).flatMap(entry => {
    const deployment = cache.get(keys.deployment(tenant, splitKey(entry.key)[1]!));
    return deployment
      ? [{ deployment: value<StoredDeployment>(deployment), scheduling: value<SchedulingReport>(entry) }]
      : [];
  });
}

function wake(waiting: readonly Waiting[]): readonly string[] {
  return waiting.map(({ deployment }) => formatQueueKey({ tenant: deployment.metadata.tenant, name: deployment.name }));
}

/** The replica that had a node and is no longer there. */
function leftIn({ entry, previous }: CacheChange): Replica | undefined {
  const before = previous && value<Replica>(previous);
  if (before?.nodeId === undefined) return undefined;
  return !entry || value<Replica>(entry).uid !== before.uid ? before : undefined;
}

function nodeOf({ nodeId, tenant }: Replica, cache: Cache): Candidate | undefined {
  const nodes = cache.by(NODES_BY_ID, nodeId!).map(entry => value<StoredNode>(entry));
  const node = nodes.find(({ metadata }) => metadata.tenant === tenant);
  return node && toCandidate(node, cache);
}

/** What the deployment asks of one node by itself: quotas and neighbours are looked at apart. */
function workloadFor(deployment: StoredDeployment, cache: Cache, policy: PlacementPolicy): Workload {
  return toWorkload(deployment, deployment.metadata.tenant, { cache, policy }, EMPTY.totals);
}

const EMPTY = new NodeFleet();

/** Every reason of the node in one text. Empty when it would take the workload. */
function answerOf(node: Candidate, workload: Workload): string {
  const reasons = listRejections(node, workload, new NodeFleet([node]).countTopology(workload));
  return reasons.map(({ filter, reported }) => `${filter} ${reported}`).join('\n');
}
