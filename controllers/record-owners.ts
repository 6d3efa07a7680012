import type { StoredDeployment } from '../crds/deployment/index.js';
import { keys, ranges, splitKey } from '../crds/keys/index.js';
import type { Metadata } from '../crds/meta/index.js';
import type { StoredNode } from '../crds/node/index.js';
import type { Replica } from '../crds/replica/index.js';
import type { StoredTenant } from '../crds/tenant/index.js';
import type { StoredVolume } from '../crds/volume/index.js';
import { type Cache, listValues, readValue } from '../pkg/store/index.js';
import type { FindOwner } from './announce-unusable.js';

/** The records that belong to a deployment. Its own is reported by its status. */
export const recordsOfDeployments = [
  ranges.replicas,
  ranges.reports,
  ranges.statuses,
  ranges.rollouts,
  ranges.schedulings,
  ranges.unresolved,
  ranges.deliveries,
  ranges.canaryOrders,
  ranges.scalingPolicies,
  ranges.scalings,
] as const;

/** The deployment that a record stands beside. */
export const findDeploymentOwner: FindOwner = ({ key }, cache) => {
  const [tenant = '', second = '', third = ''] = splitKey(key);
  const name = key.startsWith(ranges.reports) ? findReported(tenant, third, cache) : second;
  if (name === undefined) return undefined;
  const deployment = readValue<StoredDeployment>(cache, keys.deployment(tenant, name));
  if (!deployment) return undefined;
  const subject = { kind: 'Deployment', name, id: deployment.metadata.uid } as const;
  return { type: 'deployment.record_unusable', tenant, subject };
};

function findReported(tenant: string, uid: string, cache: Cache): string | undefined {
  const replicas = listValues<Replica>(cache, ranges.of(ranges.replicas, tenant));
  return replicas.find(replica => replica.uid === uid)?.deployment;
}

/** The records that belong to a node. Its own is reported by its status. */
export const recordsOfNodes = [ranges.nodeStatuses, ranges.alive] as const;

/** The node that a record stands beside. */
export const findNodeOwner: FindOwner = ({ key }, cache) => {
  const [tenant = '', name = ''] = splitKey(key);
  const node = readValue<StoredNode>(cache, keys.node(tenant, name));
  return node && { type: 'node.record_unusable', tenant, subject: { kind: 'Node', name, id: node.id } };
};

export const recordsOfRotations = [ranges.rotations, ranges.rotationProgress] as const;

/** The credential that a rotation is of. */
export const findSecretOwner: FindOwner = ({ key }) => {
  const [tenant = '', name = ''] = splitKey(key);
  return { type: 'secret.record_unusable', tenant, subject: { kind: 'Secret', name, id: name } };
};

/** The job or the network that a record stands beside, or is. Its tenant where there is none any more. */
export const findObjectOwner: FindOwner = (entry, cache) => {
  const [tenant = '', name = ''] = splitKey(entry.key);
  const isJobs = entry.key.startsWith(ranges.jobs) || entry.key.startsWith(ranges.jobStatuses);
  const key = isJobs ? keys.job(tenant, name) : keys.network(tenant, name);
  const id = readValue<{ readonly metadata: Metadata }>(cache, key)?.metadata.uid;
  if (id === undefined) return findTenantOwner(entry, cache);
  if (isJobs) return { type: 'job.record_unusable', tenant, subject: { kind: 'Job', name, id } };
  return { type: 'network.record_unusable', tenant, subject: { kind: 'Network', name, id } };
};

export const recordsOfNetworks = [ranges.networks, ranges.networkStatuses, ranges.networkReports] as const;

export const recordsOfVolumes = [ranges.volumes, ranges.volumeStatuses, ranges.volumeReports, ranges.advices] as const;

/** The volume that a record stands beside, or is. Its tenant where there is none any more. */
export const findVolumeOwner: FindOwner = (entry, cache) => {
  const [tenant = '', id = ''] = splitKey(entry.key);
  const volume = readValue<StoredVolume>(cache, keys.volume(tenant, id));
  if (!volume) return findTenantOwner(entry, cache);
  return { type: 'volume.record_unusable', tenant, subject: { kind: 'Volume', name: volume.name, id } };
};

export const recordsOfJobs = [ranges.jobs, ranges.jobStatuses] as const;

export const recordsOfTenants = [
  ranges.intents,
  ranges.formerDeployments,
  ranges.backups,
  ranges.tenants,
  ranges.tokens,
  ranges.nodeNames,
] as const;

/** The tenant that a record belongs to: the platform's own where the key names none. */
export const findTenantOwner: FindOwner = ({ key }, cache) => {
  const isPlatforms = key.startsWith(ranges.tokens) || key.startsWith(ranges.nodeNames);
  const id = isPlatforms
    ? listValues<StoredTenant>(cache, ranges.tenants).find(({ platform }) => platform)?.id
    : splitKey(key)[0];
  const tenant = id === undefined ? undefined : readValue<StoredTenant>(cache, keys.tenant(id));
  return (
    tenant && {
      type: 'tenant.record_unusable',
      tenant: tenant.id,
      subject: { kind: 'Tenant', name: tenant.name, id: tenant.id },
    }
  );
};
