import { isDeepStrictEqual } from 'node:util';

import { ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import { formatJobOwner, parseJobOwner, type Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { VolumeStatus } from '../../crds/volume/index.js';
import { REPLICAS_BY_NODE } from '../../pkg/fleet/index.js';
import type { Wake } from '../../pkg/reconcile/index.js';
import { type Cache, type CacheChange, value } from '../../pkg/store/index.js';
import { deriveQueueKey, formatQueueKey, parseQueueKey } from './queue-key.js';

/** Deployments by each deployment that they depend on, as `<tenant>/<name>`. */
export const DEPENDENTS = 'controllers.dependents';

/** The documents after and before a change. */
export function readChange<T>({ entry, previous }: Pick<CacheChange, 'entry' | 'previous'>) {
  return { after: entry && value<T>(entry), before: previous && value<T>(previous) };
}

/** Wakes the object that the two segments after the kind name. */
export function wakeItself(prefix: string): Wake {
  return { prefix, keys: change => [deriveQueueKey(change.key)] };
}

/** Wakes a job by its own record or its status, under the name that it has as the owner of replicas. */
export function wakeJob(prefix: string): Wake {
  return {
    prefix,
    keys: ({ key }) => {
      const [tenant = '', name = ''] = splitKey(key);
      return [formatQueueKey({ tenant, name: formatJobOwner(name) })];
    },
  };
}

/** The same wakes of a loop that cares for the replicas of deployments only, or for the attempts of jobs only. */
export function onlyOwners(kind: 'Deployment' | 'Job', wakes: readonly Wake[]): readonly Wake[] {
  const isOwn = (key: string) => (parseJobOwner(parseQueueKey(key).name) === undefined) === (kind === 'Deployment');
  return wakes.map(wake => ({ ...wake, keys: (change, cache) => wake.keys(change, cache).filter(isOwn) }));
}

/** Wakes the deployment of a report when `matters` is true for the change. */
export function wakeReported(
  matters: (before: Report | undefined, after: Report | undefined) => boolean = () => true,
): Wake {
  return {
    prefix: ranges.reports,
    keys: change => {
      const { after, before } = readChange<Report>(change);
      if (!matters(before, after)) return [];
      // Of a report that cannot be read, the one before names its deployment.
      const names = new Set([after, before].flatMap(report => report?.deployment ?? []));
      return [...names].map(name => formatQueueKey({ tenant: splitKey(change.key)[0] ?? '', name }));
    },
  };
}

/** Wakes every deployment with a replica on a node that is enrolled, removed or labelled differently. */
export const wakeOnNodeChange: Wake = {
  prefix: ranges.nodes,
  keys: (change, cache) => {
    const { after, before } = readChange<StoredNode>(change);
    const matters = after?.id !== before?.id || !isDeepStrictEqual(after?.labels, before?.labels);
    return matters ? listDeploymentsOn([after?.id, before?.id], cache) : [];
  },
};

/** Whether a new leader is shown what was stored before: it looks at everything by itself. */
export const isOfFirstPass = ({ revision }: CacheChange, cache: Cache): boolean => revision < cache.revision;

/**
 * Wakes every deployment with a replica on the node that a volume was on when that is promoted on another, or is to move there. A status that
 * was lost and is repaired does not say where the volume was.
 */
export const wakeOnPromotion: Wake = {
  prefix: ranges.volumeStatuses,
  keys: (change, cache) => {
    const { after, before } = readChange<VolumeStatus>(change);
    const isMadeGood = !before && (after?.epoch ?? 1) > 1 && !isOfFirstPass(change, cache);
    if (isMadeGood) return listConsumers(splitKey(change.key)[0] ?? '', after!.id, cache);
    const isSame = after?.epoch === before?.epoch && after?.finalFor === before?.finalFor;
    return isSame ? [] : listDeploymentsOn([before?.primaryNode], cache);
  },
};

/** Wakes every deployment with a replica on a node whose status or loss changes. */
export const wakeOnNodeStatusChange: Wake = {
  prefix: ranges.nodeStatuses,
  keys: (change, cache) => {
    const { after, before } = readChange<NodeStatus>(change);
    const matters = (['id', 'status', 'lost', 'unobservedSince', 'isSilent'] as const).some(
      at => after?.[at] !== before?.[at],
    );
    return matters ? listDeploymentsOn([after?.id, before?.id], cache) : [];
  },
};

/** Also wakes the deployments that depend on those that the given wake wakes. */
export function withDependents({ prefix, keys: wakeKeys }: Wake): Wake {
  return {
    prefix,
    keys: (change, cache) => {
      const woken = wakeKeys(change, cache);
      return [...woken, ...woken.flatMap(key => cache.by(DEPENDENTS, key).map(entry => deriveQueueKey(entry.key)))];
    },
  };
}

/** The queue keys of the deployments of a tenant that have replicas which mount a volume. */
function listConsumers(tenant: string, volumeId: string, cache: Cache): readonly string[] {
  const replicas = cache.list(ranges.of(ranges.replicas, tenant)).map(entry => value<Replica>(entry));
  const own = replicas.filter(({ template }) => template.volumes?.some(mount => mount.volumeId === volumeId));
  return [...new Set(own.map(({ deployment }) => formatQueueKey({ tenant, name: deployment })))];
}

/** The queue keys of deployments on one node, or on two that had one name after the other. */
function listDeploymentsOn(nodeIds: readonly (string | undefined)[], cache: Cache): readonly string[] {
  const ids = new Set(nodeIds.filter(id => id !== undefined));
  const replicas = [...ids].flatMap(id => cache.by(REPLICAS_BY_NODE, id).map(entry => value<Replica>(entry)));
  return [...new Set(replicas.map(({ tenant, deployment }) => formatQueueKey({ tenant, name: deployment })))];
}
