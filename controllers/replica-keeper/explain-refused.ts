import type { Deployment, StoredDeployment } from '../../crds/deployment/index.js';
import { isDnsLabel, isTypedId } from '../../crds/grammar/index.js';
import type { StoredJob } from '../../crds/job/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNetwork } from '../../crds/network/index.js';
import { type Replica, toStoredWorkload } from '../../crds/replica/index.js';
import { type StoredVolume, toVolumeSubject } from '../../crds/volume/index.js';
import type { VolumeMount } from '../../crds/workload/index.js';
import { findNode, isJobEnded } from '../../pkg/fleet/index.js';
import { type Cache, listValues, readValue } from '../../pkg/store/index.js';
import { listHealthWaiters } from '../reading/index.js';

/** Why a configuration that was accepted once must not be stored now, as far as other objects decide it. Its secrets are looked up later. */
export function explainRefused(spec: Deployment, before: StoredDeployment, cache: Cache): string | undefined {
  const { tenant } = before.metadata;
  if (spec.nodeId !== undefined && !findNode(spec.nodeId, tenant, cache)) {
    return `it names node ${spec.nodeId}, which does not exist any more; correct the deployment`;
  }
  const refused = explainNetworks(spec, tenant, cache) ?? explainVolumes(spec, tenant, cache);
  if (refused !== undefined) return refused;
  const waiters = spec.healthCheck || !before.healthCheck ? [] : listHealthWaiters(before, cache);
  if (waiters.length === 0) return undefined;
  const names = waiters.slice(0, 5).join(', ');
  return `it has no health check, for which ${names} ${waiters.length === 1 ? 'waits' : 'wait'}; correct the deployment`;
}

/** The conflict keys of the volumes that a configuration mounts: the API writes them with whatever mounts or deletes one of these. */
export function listVolumeConflicts({ volumes = [] }: Deployment, tenant: string): readonly string[] {
  const ids = new Set(volumes.map(({ volumeId }) => volumeId).filter(id => isTypedId('vol', id)));
  return [...ids].map(id => keys.conflict(tenant, toVolumeSubject(id)));
}

function explainNetworks({ nodeId, networks = [] }: Deployment, tenant: string, cache: Cache): string | undefined {
  const places = networks.map(network => ({
    network,
    at: isDnsLabel(network) ? readValue<StoredNetwork>(cache, keys.network(tenant, network))?.nodeId : undefined,
  }));
  const away = places.find(({ at }) => at === undefined);
  if (away)
    return `it names network ${away.network}, which does not exist any more; create it, or correct the deployment`;
  const elsewhere = places.find(({ at }) => at !== (nodeId ?? places[0]?.at));
  return elsewhere && `it names network ${elsewhere.network}, which is on another node by now; correct the deployment`;
}

function explainVolumes(
  { name, replicas, volumes = [] }: Deployment,
  tenant: string,
  cache: Cache,
): string | undefined {
  for (const { volumeId, readOnly } of volumes) {
    const volume = isTypedId('vol', volumeId)
      ? readValue<StoredVolume>(cache, keys.volume(tenant, volumeId))
      : undefined;
    if (!volume || volume.metadata.deletedAt !== undefined)
      return `it mounts volume ${volumeId}, which does not exist any more; correct the deployment`;
    if (readOnly) continue;
    // The number of replicas is not rolled back.
    if (replicas > 1)
      return `it writes to volume ${volume.name}, which one replica may do, and ${replicas} are wanted by now; set replicas to 1, or correct the deployment`;
    const writer = findOtherWriter(name, volumeId, tenant, cache);
    if (writer !== undefined)
      return `it writes to volume ${volume.name}, to which ${writer} writes by now; correct the deployment`;
  }
  return undefined;
}

/** Who else writes to a volume: a deployment, a job that has not ended, or what still has a container that may. */
function findOtherWriter(name: string, volumeId: string, tenant: string, cache: Cache): string | undefined {
  const list = <T>(range: string) => listValues<T>(cache, ranges.of(range, tenant));
  const jobs = list<StoredJob>(ranges.jobs).filter(job => !isJobEnded(job, cache));
  const consumers: readonly { readonly name: string; readonly volumes?: readonly VolumeMount[] }[] = [
    ...list<StoredDeployment>(ranges.deployments),
    ...jobs.map(toStoredWorkload),
    ...list<Replica>(ranges.replicas).map(({ deployment, template }) => ({ ...template, name: deployment })),
  ];
  const writes = (mounts: readonly VolumeMount[] = []) =>
    mounts.some(each => each.volumeId === volumeId && !each.readOnly);
  return consumers.find(other => other.name !== name && writes(other.volumes))?.name;
}
