/**
 * What the loops read from the watch cache: a deployment with its replicas and reports, and which changes wake which key.
 *
 * Everything read carries the guards of its sources, so that a decision can only be committed while they are unchanged.
 *
 * `readDeployment` reads; `wakeItself`, `wakeReported` and the others are wakes that several loops share; `defineIndexes`
 * must be called before the cache is fed. What to do is left to each loop.
 *
 * @module
 */
import type { Delivery } from '../../crds/delivery/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import { isDnsLabel, isTypedId } from '../../crds/grammar/index.js';
import { keys, type ObjectName, ranges } from '../../crds/keys/index.js';
import { type NodeStatus, type StoredNode } from '../../crds/node/index.js';
import type { StoredJob } from '../../crds/job/index.js';
import { parseJobOwner, type Replica, toStoredWorkload } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { Regions } from '../../crds/residency/index.js';
import type { VolumeStatus } from '../../crds/volume/index.js';
import { defaultPolicy, defineFleetIndexes, findNode, withWantedReplicas } from '../../pkg/fleet/index.js';
import { type ResidencyRule, satisfiesResidency, toResidencyRule } from '../../pkg/placement/index.js';
import { type Cache, type Entry, findRecordFault, type Guard, readValue, value } from '../../pkg/store/index.js';
import { carryReason, type UnmetDependency } from './dependencies.js';
import { isServing, type ObservedReplica } from './observed.js';
import { deriveQueueKey, formatQueueKey, parseQueueKey } from './queue-key.js';
import { DEPENDENTS } from './wakes.js';

export { deriveQueueKey, formatQueueKey, parseQueueKey };
export * from './observed.js';
export * from './trouble.js';
export * from './wakes.js';
export type { UnmetDependency };

/** Deployments by each credential that they refer to, as `<tenant>/<namespace>/<label>`. */
const CONSUMERS = 'controllers.consumers';

/** Replicas by each credential in their own template: their deployment may refer to another by now. */
const HOLDERS = 'controllers.holders';

/** Runs of schedules by the job that made them, as `<tenant>/<name>`. */
export const RUNS = 'controllers.runs';

/** Defines the indexes that the loops use. Must be called once, before the cache is fed. */
export function defineIndexes(cache: Cache): void {
  defineFleetIndexes(cache);
  cache.defineIndex(DEPENDENTS, ranges.deployments, entry => {
    const { metadata, dependsOn = [] } = value<StoredDeployment>(entry);
    return dependsOn.map(({ name }) => `${metadata.tenant}/${name}`);
  });
  cache.defineIndex(CONSUMERS, ranges.deployments, entry => {
    const { metadata, secrets = [] } = value<StoredDeployment>(entry);
    return secrets.map(({ vault_path }) => `${metadata.tenant}/${vault_path}`);
  });
  cache.defineIndex(RUNS, ranges.jobs, entry => {
    const { tenant, owner } = value<StoredJob>(entry).metadata;
    return owner ? [`${tenant}/${owner.name}`] : [];
  });
  cache.defineIndex(HOLDERS, ranges.replicas, entry => {
    const { tenant, template } = value<Replica>(entry);
    return (template.secrets ?? []).map(({ vault_path }) => `${tenant}/${vault_path}`);
  });
}

function observeReplica(entry: Entry, cache: Cache, residency?: ResidencyRule): ObservedReplica {
  const replica = value<Replica>(entry);
  const { revision } = entry;
  const { tenant, nodeId, uid } = replica;
  if (nodeId === undefined) return { replica, revision, report: undefined, node: 'nowhere', misplaced: false };

  const node = findNode(nodeId, tenant, cache);
  const reported = cache.get(keys.report(tenant, nodeId, uid));
  const reportFault = reported && findRecordFault(reported);
  // Where residency is not enforced, no placed replica is misplaced.
  const isChecked = node !== undefined && residency?.regions.enforced === true;
  return {
    replica,
    revision,
    report: reported && reportFault === undefined ? value<Report>(reported) : undefined,
    ...(reportFault !== undefined && { reportFault }),
    ...(node ? { nodeName: node.name, ...observeNode(node, cache) } : observeMissingNode(tenant, cache)),
    misplaced: isChecked && !satisfiesResidency(residency, node.labels),
    ...(isLeftBehind(replica, cache) && { isLeftBehind: true }),
    ...(isGivingWay(replica, cache) && { isGivingWay: true }),
  };
}

function listVolumeStatuses({ tenant, template: { volumes = [] } }: Replica, cache: Cache): readonly VolumeStatus[] {
  return volumes.flatMap(({ volumeId }) => {
    if (!isTypedId('vol', volumeId)) return [];
    return readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, volumeId)) ?? [];
  });
}

function isGivingWay(replica: Replica, cache: Cache): boolean {
  return listVolumeStatuses(replica, cache).some(({ finalFor }) => finalFor !== undefined);
}

/** Only a promotion or a move takes a volume to another node than the one that its consumers were placed on. */
function isLeftBehind(replica: Replica, cache: Cache): boolean {
  return listVolumeStatuses(replica, cache).some(
    ({ epoch = 1, primaryNode }) => epoch > 1 && primaryNode !== undefined && primaryNode !== replica.nodeId,
  );
}

/** While the id of some node of the tenant cannot be read, a node that is not found may be that one: its containers may run. */
function observeMissingNode(tenant: string, cache: Cache): Pick<ObservedReplica, 'node'> {
  const nodes = cache.list(ranges.of(ranges.nodes, tenant));
  return { node: nodes.some(entry => findRecordFault(entry) !== undefined) ? 'unobserved' : 'gone' };
}

function observeNode(
  { id, metadata, name }: StoredNode,
  cache: Cache,
): Pick<ObservedReplica, 'node' | 'nodeSince' | 'isSilent' | 'lost' | 'draining'> {
  const entry = cache.get(keys.nodeStatus(metadata.tenant, name));
  const status = entry && value<NodeStatus>(entry);
  if (status?.id !== id) return { node: 'well' };
  const { unobservedSince: nodeSince, since, lost: by, isSilent } = status;
  const seen =
    nodeSince === undefined
      ? ({ node: 'well' } as const)
      : ({ node: 'unobserved', nodeSince, ...(isSilent && { isSilent }) } as const);
  if (status.status === 'draining') return { ...seen, draining: true };
  if (status.status !== 'failed') return seen;
  const still = { key: entry!.key, at: entry!.revision };
  return { node: 'failed', nodeSince: since, ...(by && { lost: { by, still } }) };
}

/** One deployment with its replicas, as the cache shows them. */
export interface ObservedDeployment {
  /** Undefined when the name has no deployment any more. */
  readonly deployment: StoredDeployment | undefined;
  /** What is wrong with its record, when it cannot be worked with: `deployment` is then a substitute. */
  readonly fault?: string;
  /** The same with as many replicas as it is to have; what is stored of it must not be made from this. */
  readonly wanted: StoredDeployment | undefined;
  /** By slot, the lowest first. */
  readonly replicas: readonly ObservedReplica[];
  /** Holds while the deployment is exactly as it was read, absence included. */
  readonly unchanged: Guard;
  /** Holds while it is the same deployment, whatever its spec says by now. */
  readonly same: Guard;
}

/** Reads a deployment with its replicas. `regions` are those that the operator declares for residency. */
export function readDeployment(
  { tenant, name }: ObjectName,
  cache: Cache,
  regions: Regions = defaultPolicy.regions,
): ObservedDeployment {
  const key = keys.deployment(tenant, name);
  const entry = cache.get(key);
  return readOwned(
    { tenant, name },
    { key, entry, deployment: entry && value<StoredDeployment>(entry) },
    cache,
    regions,
  );
}

/** The same of what owns replicas: a deployment, or a job with its attempts. */
export function readWorkload(
  { tenant, name }: ObjectName,
  cache: Cache,
  regions: Regions = defaultPolicy.regions,
): ObservedDeployment {
  const job = parseJobOwner(name);
  if (job === undefined) return readDeployment({ tenant, name }, cache, regions);
  const key = keys.job(tenant, job);
  const entry = cache.get(key);
  const deployment = entry && toStoredWorkload(value<StoredJob>(entry));
  return readOwned({ tenant, name }, { key, entry, deployment }, cache, regions);
}

interface ReplicaOwner {
  readonly key: string;
  readonly entry: Entry | undefined;
  readonly deployment: StoredDeployment | undefined;
}

function readOwned(
  { tenant, name }: ObjectName,
  { key, entry, deployment }: ReplicaOwner,
  cache: Cache,
  regions: Regions,
): ObservedDeployment {
  const residency = deployment && toResidencyRule(deployment.placement?.residency, regions);
  const unchanged: Guard = { key, at: entry?.revision ?? 0 };
  const fault = entry && findRecordFault(entry);
  return {
    deployment,
    ...(fault !== undefined && { fault }),
    wanted: withWantedReplicas(deployment, cache),
    replicas: cache
      .list(ranges.replicasOf(tenant, name))
      .map(replica => observeReplica(replica, cache, residency))
      .toSorted((a, b) => a.replica.slot - b.replica.slot),
    unchanged,
    same: entry ? { key, created: entry.created } : unchanged,
  };
}

/** The dependencies of a deployment that do not hold now, each with its own reason. */
export function listUnmetDependencies(
  { metadata, dependsOn = [] }: StoredDeployment,
  cache: Cache,
): readonly UnmetDependency[] {
  return dependsOn.flatMap(({ name, condition }) => {
    // A damaged record may hold any name: it is never met, and must not stop the loops.
    const because = isDnsLabel(name)
      ? explainUnmet(condition, readDeployment({ tenant: metadata.tenant, name }, cache), cache)
      : 'is no name of a deployment: remove it from dependsOn';
    return because === undefined ? [] : [{ name, condition, because }];
  });
}

/**
 * `healthy` needs a health check that passes in every replica: a container that merely runs proves nothing. `started`
 * needs one running container.
 */
function explainUnmet(
  condition: UnmetDependency['condition'],
  { deployment, wanted, replicas, fault }: ObservedDeployment,
  cache: Cache,
): string | undefined {
  if (fault !== undefined) return 'has a record that cannot be worked with: send it again, or delete it';
  if (!deployment || deployment.metadata.deletedAt) return 'does not exist: create it, or remove it from dependsOn';
  if (deployment.replicas === 0) return 'is stopped: ask for replicas of it, or remove it from dependsOn';
  const { uid } = deployment.metadata;
  const own = replicas.filter(({ replica }) => replica.deploymentUid === uid && !replica.retiringSince);
  if (condition === 'started') {
    const hasStarted = own.some(({ report, node }) => node === 'well' && report?.state === 'running');
    return hasStarted ? undefined : `has not started${carryReason(deployment, cache)}`;
  }
  const healthy = own.filter(seen => isServing(seen) && seen.report?.health === 'healthy').length;
  if (healthy >= wanted!.replicas) return undefined;
  return `is not healthy: ${healthy} of ${wanted!.replicas} replicas${carryReason(deployment, cache)}`;
}

/** The names of the deployments that wait for the health of another. */
export function listHealthWaiters({ metadata, name }: StoredDeployment, cache: Cache): readonly string[] {
  return cache.by(DEPENDENTS, `${metadata.tenant}/${name}`).flatMap(entry => {
    const { name: waiter, dependsOn = [] } = value<StoredDeployment>(entry);
    return dependsOn.some(each => each.name === name && each.condition === 'healthy') ? [waiter] : [];
  });
}

/** The deployments that refer to a credential. */
export function listConsumers(tenant: string, path: string, cache: Cache): readonly Entry[] {
  return cache.by(CONSUMERS, `${tenant}/${path}`);
}

/** What is wrong with what is stored of a rotation, when that cannot be worked with. */
export function findRotationFault(tenant: string, label: string, cache: Cache): string | undefined {
  const entries = [cache.get(keys.rotation(tenant, label)), cache.get(keys.rotationProgress(tenant, label))];
  return entries.map(entry => entry && findRecordFault(entry)).find(fault => fault !== undefined);
}

/** A replica with some version of a credential. */
export interface SecretHolder extends ObservedReplica {
  /**
   * The version that was last given out for its container. It may differ from the one that the replica is stamped with: an
   * agent that had already fetched one version when the stamp was renewed makes the container with that.
   */
  readonly delivered?: number;
}

/** The replicas whose containers have, or are to have, some version of a credential. */
export function listHolders(tenant: string, path: string, cache: Cache): readonly SecretHolder[] {
  return cache.by(HOLDERS, `${tenant}/${path}`).map(entry => {
    const seen = observeReplica(entry, cache);
    const { deployment, uid } = seen.replica;
    const record = cache.get(keys.delivery(tenant, deployment, uid));
    const delivered = record && value<Delivery>(record).uses.findLast(({ versions }) => path in versions);
    return delivered ? { ...seen, delivered: delivered.versions[path]! } : seen;
  });
}
