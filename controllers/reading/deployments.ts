import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, type ObjectName, ranges } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { isReady, type Report } from '../../crds/report/index.js';
import type { Regions } from '../../crds/residency/index.js';
import { defaultPolicy, defineFleetIndexes, NODES_BY_ID, toResidencyRule } from '../../pkg/fleet/index.js';
import { type ResidencyRule, satisfiesResidency } from '../../pkg/placement/index.js';
import { type Cache, type Entry, type Guard, type Revision, value } from '../../pkg/store/index.js';

/** The state of a replica's node: `nowhere` means that it has none, `gone` that its node was removed. */
export type ReplicaNodeState = 'nowhere' | 'well' | 'failed' | 'gone';

/** How a node was lost, with the guard that it still is: a replica on a node that has just returned is kept. */
export interface NodeLoss {
  readonly by: NonNullable<NodeStatus['lost']>;
  readonly still: Guard;
}

/** One replica with what is known of its container. */
export interface ObservedReplica {
  readonly replica: Replica;
  /** Of the replica's record, for the guard of a change to it. */
  readonly revision: Revision;
  readonly report: Report | undefined;
  readonly node: ReplicaNodeState;
  /** What is on its node counts as lost. The node is then `failed`. */
  readonly lost?: NodeLoss;
  /** Its node is to be emptied. */
  readonly draining?: true;
  /** The node that it is on breaks the residency that the deployment asks for. */
  readonly misplaced: boolean;
}

/** Whether the replica does its work. A report from a node whose agent sends no heartbeats does not count. */
export function isServing({ report, node }: ObservedReplica): boolean {
  return node === 'well' && isReady(report);
}

/** Reads what is known of the replica that an entry holds. `residency` is what its deployment asks for. */
export function observeReplica(entry: Entry, cache: Cache, residency: ResidencyRule | undefined): ObservedReplica {
  const replica = value<Replica>(entry);
  const { revision } = entry;
  const { tenant, nodeId, uid } = replica;
  if (nodeId === undefined) return { replica, revision, report: undefined, node: 'nowhere', misplaced: false };

  const found = cache.by(NODES_BY_ID, nodeId).map(each => value<StoredNode>(each));
  const node = found.find(({ metadata }) => metadata.tenant === tenant);
  const report = cache.get(keys.report(tenant, nodeId, uid));
  return {
    replica,
    revision,
    report: report && value<Report>(report),
    ...(node ? whereabouts(node, cache) : { node: 'gone' }),
    misplaced: node !== undefined && breaks(residency, node),
  };
}

function whereabouts(
  { id, metadata, name }: StoredNode,
  cache: Cache,
): Pick<ObservedReplica, 'node' | 'lost' | 'draining'> {
  const entry = cache.get(keys.nodeStatus(metadata.tenant, name));
  const written = entry && value<NodeStatus>(entry);
  const status = written?.id === id ? written : undefined;
  if (status?.status === 'draining') return { node: 'well', draining: true };
  if (status?.status !== 'failed') return { node: 'well' };
  if (!status.lost) return { node: 'failed' };
  return { node: 'failed', lost: { by: status.lost, still: { key: entry!.key, at: entry!.revision } } };
}

/** Where residency is not enforced, nothing that was placed is out of place. */
function breaks(residency: ResidencyRule | undefined, { labels }: StoredNode): boolean {
  return residency?.regions.enforced === true && !satisfiesResidency(residency, labels);
}

/** One deployment with its replicas, as the cache shows them. */
export interface ObservedDeployment {
  /** Undefined when there is none of that name any more. */
  readonly deployment: StoredDeployment | undefined;
  /** By slot, the lowest first. */
  readonly replicas: readonly ObservedReplica[];
  /** Holds while the deployment is exactly as it was read, absence included. */
  readonly unchanged: Guard;
  /** Holds while it is the same deployment, whatever it asks for by now. */
  readonly same: Guard;
}

/** Reads a deployment and all that belongs to it. `regions` is what the operator declares about residency. */
export function readDeployment(
  { tenant, name }: ObjectName,
  cache: Cache,
  regions: Regions = defaultPolicy.regions,
): ObservedDeployment {
  const key = keys.deployment(tenant, name);
  const entry: Entry | undefined = cache.get(key);
  const deployment = entry && value<StoredDeployment>(entry);
  const residency = deployment && toResidencyRule(deployment, regions);
  const unchanged: Guard = { key, at: entry?.revision ?? 0 };
  return {
    deployment,
    replicas: cache
      .list(ranges.replicasOf(tenant, name))
      .map(replica => observeReplica(replica, cache, residency))
      .toSorted((a, b) => a.replica.slot - b.replica.slot),
    unchanged,
    same: entry ? { key, created: entry.created } : unchanged,
  };
}

/** Whether replicas may move to another node: not when they write to a volume. */
export function isMovable({ volumes = [] }: StoredDeployment): boolean {
  return volumes.every(({ readOnly }) => readOnly);
}

/** A dependency that does not hold, and why. */
export interface UnmetDependency {
  readonly name: string;
  readonly condition: 'healthy' | 'started';
  /** For people: `does not exist`. */
  readonly because: string;
}

/** The dependencies of a deployment that do not hold now. */
export function listUnmetDependencies(
  { metadata, dependsOn = [] }: StoredDeployment,
  cache: Cache,
): readonly UnmetDependency[] {
  return dependsOn.flatMap(({ name, condition }) => {
    const because = whyNot(condition, readDeployment({ tenant: metadata.tenant, name }, cache));
    return because === undefined ? [] : [{ name, condition, because }];
  });
}

/**
 * `healthy` needs a health check that passes in every replica: a container that merely runs proves nothing. `started`
 * needs one running container.
 */
function whyNot(condition: UnmetDependency['condition'], { deployment, replicas }: ObservedDeployment) {
  if (!deployment || deployment.metadata.deletedAt) return 'does not exist';
  if (deployment.replicas === 0) return 'is stopped';
  const own = replicas.filter(
    ({ replica }) => replica.deploymentUid === deployment.metadata.uid && !replica.retiringSince,
  );
  if (condition === 'started') {
    return own.some(({ report, node }) => node === 'well' && report?.state === 'running')
      ? undefined
      : 'has not started';
  }
  const healthy = own.filter(seen => isServing(seen) && seen.report?.health === 'healthy').length;
  return healthy >= deployment.replicas ? undefined : `is not healthy: ${healthy} of ${deployment.replicas} replicas`;
}

/** Deployments by the tenant and path of each credential that they refer to, as `<tenant>/<namespace>/<label>`. */
const CONSUMERS = 'controllers.consumers';

/** Replicas by the same, as their own template says: a deployment may refer to something else by now. */
const HOLDERS = 'controllers.holders';

/** Indexes which deployments and replicas use which credential. Must be called once, before the cache is fed. */
export function defineCredentialIndexes(cache: Cache): void {
  cache.defineIndex(CONSUMERS, ranges.deployments, entry => {
    const { metadata, secrets = [] } = value<StoredDeployment>(entry);
    return secrets.map(({ vault_path }) => `${metadata.tenant}/${vault_path}`);
  });
  cache.defineIndex(HOLDERS, ranges.replicas, entry => {
    const { tenant, template } = value<Replica>(entry);
    return (template.secrets ?? []).map(({ vault_path }) => `${tenant}/${vault_path}`);
  });
}

/** The deployments that refer to a credential. */
export function listConsumers(tenant: string, path: string, cache: Cache): readonly Entry[] {
  return cache.by(CONSUMERS, `${tenant}/${path}`);
}

/** The replicas whose containers have, or are to have, some version of a credential. */
export function listHolders(tenant: string, path: string, cache: Cache): readonly ObservedReplica[] {
  return cache.by(HOLDERS, `${tenant}/${path}`).map(entry => observeReplica(entry, cache, undefined));
}

/** Deployments by the tenant and name of each deployment that they depend on, as `<tenant>/<name>`. */
export const DEPENDENTS = 'controllers.dependents';

/** Whether the scheduler still has to find a node for the replica. */
export function isWaiting(replica: Replica): boolean {
  return replica.nodeId === undefined && replica.retiringSince === undefined;
}

/** Files what the loops look up. To be called once, before the cache is fed. */
export function defineIndexes(cache: Cache): void {
  defineFleetIndexes(cache);
  defineCredentialIndexes(cache);
  cache.defineIndex(DEPENDENTS, ranges.deployments, entry => {
    const { metadata, dependsOn = [] } = value<StoredDeployment>(entry);
    return dependsOn.map(({ name }) => `${metadata.tenant}/${name}`);
  });
}
