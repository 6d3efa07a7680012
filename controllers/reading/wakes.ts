import { isDeepStrictEqual } from 'node:util';

import { type ObjectName, ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { REPLICAS_BY_NODE } from '../../pkg/fleet/index.js';
import type { Wake } from '../../pkg/reconcile/index.js';
import { type Cache, value } from '../../pkg/store/index.js';
import { DEPENDENTS } from './deployments.js';

/** Wakes what is named by the two segments after the kind. */
export function wakeItself(prefix: string): Wake {
  return { prefix, keys: change => [deriveQueueKey(change.key)] };
}

/** Wakes the deployment of a report for which `matters` is true. */
export function wakeReported(
  matters: (before: Report | undefined, after: Report | undefined) => boolean = () => true,
): Wake {
  return {
    prefix: ranges.reports,
    keys: ({ key, entry, previous }) => {
      const after = entry && value<Report>(entry);
      const before = previous && value<Report>(previous);
      const report = after ?? before;
      if (!report || !matters(before, after)) return [];
      return [formatQueueKey({ tenant: splitKey(key)[0] ?? '', name: report.deployment })];
    },
  };
}

/** Wakes every deployment with a replica on a node that begins or ceases to be known, or that labels itself anew. */
export const wakeOnNodeChange: Wake = {
  prefix: ranges.nodes,
  keys: ({ entry, previous }, cache) => {
    const after = entry && value<StoredNode>(entry);
    const before = previous && value<StoredNode>(previous);
    const matters = after?.id !== before?.id || !isDeepStrictEqual(after?.labels, before?.labels);
    return matters ? residents([after?.id, before?.id], cache) : [];
  },
};

/** Wakes every deployment with a replica on a node that begins or ceases to be well, to be emptied, or to be lost. */
export const wakeOnNodeStatusChange: Wake = {
  prefix: ranges.nodeStatuses,
  keys: ({ entry, previous }, cache) => {
    const after = entry && value<NodeStatus>(entry);
    const before = previous && value<NodeStatus>(previous);
    const isOther = after?.id !== before?.id;
    const matters = isOther || after?.status !== before?.status || after?.lost !== before?.lost;
    return matters ? residents([after?.id, before?.id], cache) : [];
  },
};

/** Wakes those that depend on what a wake wakes, beside it. */
export function withDependents({ prefix, keys }: Wake): Wake {
  return {
    prefix,
    keys: (change, cache) => {
      const woken = keys(change, cache);
      return [...woken, ...woken.flatMap(key => cache.by(DEPENDENTS, key).map(entry => deriveQueueKey(entry.key)))];
    },
  };
}

/** Of one node, or of two that had one name one after the other. */
function residents(nodeIds: readonly (string | undefined)[], cache: Cache): readonly string[] {
  const ids = new Set(nodeIds.filter(id => id !== undefined));
  const found = [...ids].flatMap(id => cache.by(REPLICAS_BY_NODE, id).map(entry => value<Replica>(entry)));
  return [...new Set(found.map(({ tenant, deployment }) => formatQueueKey({ tenant, name: deployment })))];
}

/** What the queues of the loops carry for a deployment or a node: `<tenant>/<name>`. */
export function formatQueueKey({ tenant, name }: ObjectName): string {
  return `${tenant}/${name}`;
}

/** The deployment or node that a queue key names. */
export function parseQueueKey(key: string): ObjectName {
  const [tenant = '', name = ''] = key.split('/');
  return { tenant, name };
}

/** The queue key for what is stored at `<kind>/<tenant>/<name>` or below it. */
export function deriveQueueKey(storeKey: string): string {
  const [tenant = '', name = ''] = splitKey(storeKey);
  return formatQueueKey({ tenant, name });
}
