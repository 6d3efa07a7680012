import { ranges, segmentsOf } from '../../crds/keys/index.js';
import { type NodeStatus, type StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { Wake } from '../../pkg/reconcile/index.js';
import { type Cache, type CacheChange, type Entry, value } from '../../pkg/store/index.js';
import { REPLICAS_BY_NODE, REPLICAS_WAITING } from './indexes.js';
import { queueKey, queueKeyOf } from './queue-key.js';

/** Wakes what is named by the two segments after the kind. */
export function itself(prefix: string): Wake {
  return { prefix, keys: change => [queueKeyOf(change.key)] };
}

/** Wakes the deployment of a report for which `matters` is true. */
export function reportedDeployment(
  matters: (before: Report | undefined, after: Report | undefined) => boolean = () => true,
): Wake {
  return {
    prefix: ranges.reports,
    keys: ({ key, entry, previous }) => {
      const after = entry && value<Report>(entry);
      const before = previous && value<Report>(previous);
      const report = after ?? before;
      if (!report || !matters(before, after)) return [];
      return [queueKey({ tenant: segmentsOf(key)[0] ?? '', name: report.deployment })];
    },
  };
}

/** Wakes every deployment with a replica on a node that begins or ceases to be known. */
export const deploymentsOnNode: Wake = {
  prefix: ranges.nodes,
  keys: ({ entry, previous }, cache) => {
    const node = entry ?? previous;
    return node && !(entry && previous) ? residents(value<StoredNode>(node).id, cache) : [];
  },
};

/** Wakes every deployment with a replica on a node that begins or ceases to be well. */
export const deploymentsOnFailingNode: Wake = {
  prefix: ranges.nodeStatuses,
  keys: ({ entry, previous }, cache) => {
    const after = entry && value<NodeStatus>(entry);
    const before = previous && value<NodeStatus>(previous);
    const id = after?.id ?? before?.id;
    const matters = (after?.status === 'failed') !== (before?.status === 'failed');
    return id !== undefined && matters ? residents(id, cache) : [];
  },
};

/** The deployments of a tenant that wait for a node. */
export function waitingIn(tenant: string, cache: Cache): readonly string[] {
  return deploymentsOf(cache.by(REPLICAS_WAITING, tenant));
}

/** Wakes the deployments of the tenant that wait for a node, for each change that `frees` something. */
export function waitingDeployments(prefix: string, frees: (change: CacheChange) => boolean = () => true): Wake {
  return {
    prefix,
    keys: (change, cache) => (frees(change) ? waitingIn(segmentsOf(change.key)[0] ?? '', cache) : []),
  };
}

function residents(nodeId: string, cache: Cache): readonly string[] {
  return deploymentsOf(cache.by(REPLICAS_BY_NODE, nodeId));
}

function deploymentsOf(replicas: readonly Entry[]): readonly string[] {
  const found = replicas.map(entry => value<Replica>(entry));
  return [...new Set(found.map(({ tenant, deployment }) => queueKey({ tenant, name: deployment })))];
}
