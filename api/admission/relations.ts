import type { KnownDeployment, StoredDeployment } from '../../crds/deployment/index.js';
import { isDnsLabel, parseSecretPath } from '../../crds/grammar/index.js';
import type { StoredJob } from '../../crds/job/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { formatJobOwner, type Replica, toStoredWorkload } from '../../crds/replica/index.js';
import type { VolumeConsumer } from '../../crds/volume/index.js';
import type { VolumeMount } from '../../crds/workload/index.js';
import { isJobEnded } from '../../pkg/fleet/index.js';
import { type Cache, type Entry, value } from '../../pkg/store/index.js';

const BY_SECRET = 'api.deployments-by-secret';
const JOBS_BY_SECRET = 'api.jobs-by-secret';
const REFERRING = 'api.deployments-that-refer-to-secrets';
const REFERRING_JOBS = 'api.jobs-that-refer-to-secrets';
const BY_DEPENDENCY = 'api.deployments-by-dependency';
const BY_VOLUME = 'api.deployments-by-volume';
const JOBS_BY_VOLUME = 'api.jobs-by-volume';
const REPLICAS_BY_VOLUME = 'api.replicas-by-volume';
const BY_NETWORK = 'api.deployments-by-network';
const JOBS_BY_NETWORK = 'api.jobs-by-network';
const REPLICAS_BY_NETWORK = 'api.replicas-by-network';

/** Most deployments that a walk along dependencies looks at. */
const WALK_MAX = 1_000;

/** Indexes deployments by the objects they refer to. To be called once, before the cache is filled. */
export function defineRelationIndexes(cache: Cache): void {
  const file = (
    name: string,
    field: string,
    derive: (stored: StoredDeployment) => readonly string[],
    range: string = ranges.deployments,
  ) => {
    const mark = Buffer.from(`"${field}":`);
    // Most deployments refer to nothing: those are not parsed for it.
    cache.defineIndex(name, range, entry => {
      if (!entry.bytes.includes(mark)) return [];
      const stored = value<StoredDeployment>(entry);
      return [...new Set(derive(stored))].map(other => `${stored.metadata.tenant}/${other}`);
    });
  };
  const listLabels = ({ secrets = [] }: Pick<StoredDeployment, 'secrets'>) =>
    secrets.map(({ vault_path }) => parseLabel(vault_path));
  file(BY_SECRET, 'secrets', listLabels);
  file(JOBS_BY_SECRET, 'secrets', listLabels, ranges.jobs);
  const isReferring = ({ secrets = [] }: Pick<StoredDeployment, 'secrets'>) => (secrets.length > 0 ? [''] : []);
  file(REFERRING, 'secrets', isReferring);
  file(REFERRING_JOBS, 'secrets', isReferring, ranges.jobs);
  file(BY_DEPENDENCY, 'dependsOn', ({ dependsOn = [] }) => dependsOn.map(({ name }) => name));
  const listVolumes = ({ volumes = [] }: Pick<StoredDeployment, 'volumes'>) => volumes.map(({ volumeId }) => volumeId);
  file(BY_VOLUME, 'volumes', listVolumes);
  file(JOBS_BY_VOLUME, 'volumes', listVolumes, ranges.jobs);
  file(BY_NETWORK, 'networks', ({ networks = [] }) => networks);
  file(JOBS_BY_NETWORK, 'networks', ({ networks = [] }) => networks, ranges.jobs);
  const fileReplicas = (name: string, field: string, derive: (template: Replica['template']) => readonly string[]) => {
    const mark = Buffer.from(`"${field}":`);
    cache.defineIndex(name, ranges.replicas, entry => {
      if (!entry.bytes.includes(mark)) return [];
      const { tenant, template } = value<Replica>(entry);
      return [...new Set(derive(template))].map(other => `${tenant}/${other}`);
    });
  };
  fileReplicas(REPLICAS_BY_NETWORK, 'networks', ({ networks = [] }) => networks);
  fileReplicas(REPLICAS_BY_VOLUME, 'volumes', listVolumes);
}

/** Who joins a network: what asks for it, and what still has a container that may be on it. */
export function listNetworkUsers(cache: Cache, tenant: string, name: string): readonly string[] {
  const asking = cache.by(BY_NETWORK, `${tenant}/${name}`).map(entry => value<StoredDeployment>(entry).name);
  const held = cache.by(REPLICAS_BY_NETWORK, `${tenant}/${name}`).map(entry => value<Replica>(entry).deployment);
  const jobs = cache.by(JOBS_BY_NETWORK, `${tenant}/${name}`).map(entry => value<StoredJob>(entry));
  const pending = jobs.filter(job => !isJobEnded(job, cache)).map(job => formatJobOwner(job.name));
  return [...new Set([...asking, ...pending, ...held])].sort();
}

function parseLabel(path: string): string {
  return parseSecretPath(path)?.label ?? '';
}

/** The deployments of a tenant that refer to a credential, by its label. */
export function listSecretUsers(cache: Cache, tenant: string, label: string): readonly Entry[] {
  return cache.by(BY_SECRET, `${tenant}/${label}`);
}

/** The jobs of a tenant that refer to a credential, by its label. One that has ended reads nothing any more. */
export function listSecretJobs(cache: Cache, tenant: string, label: string): readonly Entry[] {
  return cache.by(JOBS_BY_SECRET, `${tenant}/${label}`).filter(entry => !isJobEnded(value<StoredJob>(entry), cache));
}

/** The deployments of a tenant, and then its jobs that have not ended, that refer to any credential. */
export function listAllSecretUsers(cache: Cache, tenant: string): readonly Entry[] {
  const jobs = cache.by(REFERRING_JOBS, `${tenant}/`);
  return [...cache.by(REFERRING, `${tenant}/`), ...jobs.filter(entry => !isJobEnded(value<StoredJob>(entry), cache))];
}

/** The names of the deployments, and of the jobs, that refer to a credential. */
export function listSecretUserNames(
  cache: Cache,
  tenant: string,
  path: string,
): { readonly deployments: readonly string[]; readonly jobs: readonly string[] } {
  const label = parseLabel(path);
  const nameUsers = (entries: readonly Entry[]) =>
    entries.flatMap(entry => {
      const { name, secrets = [] } = value<StoredDeployment | StoredJob>(entry);
      return secrets.some(({ vault_path }) => vault_path === path) ? [name] : [];
    });
  return {
    deployments: nameUsers(listSecretUsers(cache, tenant, label)),
    jobs: nameUsers(listSecretJobs(cache, tenant, label)),
  };
}

/** The anchors with which deployments and jobs refer to a credential. */
export function listAnchors(cache: Cache, tenant: string, path: string): readonly string[] {
  const label = parseLabel(path);
  return [...listSecretUsers(cache, tenant, label), ...listSecretJobs(cache, tenant, label)].flatMap(entry => {
    const { secrets = [] } = value<StoredDeployment | StoredJob>(entry);
    return secrets.filter(({ vault_path }) => vault_path === path).map(({ anchor }) => anchor);
  });
}

/** The deployments of a tenant that wait for another. */
export function listDependents(cache: Cache, tenant: string, name: string): readonly Entry[] {
  return cache.by(BY_DEPENDENCY, `${tenant}/${name}`);
}

/** Who mounts a volume: the deployments, and the jobs that have not ended. */
export function listVolumeConsumers(cache: Cache, tenant: string, volumeId: string): readonly VolumeConsumer[] {
  const of = `${tenant}/${volumeId}`;
  const jobs = cache.by(JOBS_BY_VOLUME, of).map(entry => value<StoredJob>(entry));
  const pending = jobs.filter(job => !isJobEnded(job, cache)).map(toStoredWorkload);
  return [...cache.by(BY_VOLUME, of).map(entry => value<StoredDeployment>(entry)), ...pending].map(
    ({ name, volumes = [] }) => ({
      deployment: name,
      readOnly: !volumes.some(mount => mount.volumeId === volumeId && !mount.readOnly),
    }),
  );
}

/** Who mounts a volume, and what still has a container that may. */
export function listVolumeUsers(cache: Cache, tenant: string, volumeId: string): readonly VolumeConsumer[] {
  const asking = listVolumeConsumers(cache, tenant, volumeId);
  const held = cache.by(REPLICAS_BY_VOLUME, `${tenant}/${volumeId}`).map(entry => value<Replica>(entry));
  const writes = (volumes: readonly VolumeMount[] = []) =>
    volumes.some(each => each.volumeId === volumeId && !each.readOnly);
  const writers = new Set([
    ...asking.filter(({ readOnly }) => !readOnly).map(({ deployment }) => deployment),
    ...held.filter(({ template }) => writes(template.volumes)).map(({ deployment }) => deployment),
  ]);
  const names = new Set([...asking, ...held].map(({ deployment }) => deployment));
  return [...names].map(deployment => ({ deployment, readOnly: !writers.has(deployment) }));
}

/** Every deployment that can be reached along dependencies, the given ones included. */
export function walkDependencies(cache: Cache, tenant: string, names: readonly string[]): readonly Entry[] {
  const found = new Map<string, Entry>();
  const waiting = [...names];
  for (let name = waiting.pop(); name !== undefined && found.size < WALK_MAX; name = waiting.pop()) {
    const entry = isDnsLabel(name) && !found.has(name) ? cache.get(keys.deployment(tenant, name)) : undefined;
    if (!entry) continue;
    found.set(name, entry);
    waiting.push(...(value<StoredDeployment>(entry).dependsOn ?? []).map(dependency => dependency.name));
  }
  return [...found.values()];
}

/** A job as rules look at it: under a name that no deployment has. */
export function toKnownJob(entry: Entry): KnownDeployment {
  return toKnown(toStoredWorkload(value<StoredJob>(entry)));
}

/** A deployment as rules look at it. */
export function toKnownDeployment(entry: Entry): KnownDeployment {
  return toKnown(value<StoredDeployment>(entry));
}

function toKnown({ name, dependsOn = [], healthCheck, secrets = [] }: StoredDeployment): KnownDeployment {
  return {
    name,
    dependsOn,
    hasHealthCheck: healthCheck !== undefined,
    secretPaths: secrets.map(({ vault_path }) => vault_path),
    externalPaths: secrets.filter(({ anchor }) => anchor === 'external').map(({ vault_path }) => vault_path),
  };
}
