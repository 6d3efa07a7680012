import { createInitialStatus, deploymentKind, type DeploymentStatus } from '../../../crds/deployment/index.js';
import { isDnsLabel, isTypedId } from '../../../crds/grammar/index.js';
import { keys, ranges, toStatusKey } from '../../../crds/keys/index.js';
import { type Cache, type Entry, toSoundBytes } from '../../../pkg/store/index.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { cacheRendered, readUid, spliceDocument, toSpliceable } from '../../http/resource.js';
import type { ReaderOptions } from '../kind-routes.js';

const STATUS = Buffer.from(',"status":');
const DELETED = /"deletedAt":"/;
const PENDING = Buffer.from(JSON.stringify(createInitialStatus()));
const DELETING = Buffer.from(JSON.stringify(createInitialStatus('Deleting', 'deletion is requested')));

const viewDeployment = cacheRendered((entry, status) => {
  const sound = toSpliceable(entry);
  return spliceDocument(sound, STATUS, chooseStatus(sound, status));
});

/** A deployment without a status is shown as pending, and is found by its name or its id. */
export function createDeploymentReader(cache: Cache): ReaderOptions {
  return {
    resource: { range: ranges.deployments, joined: ranges.statuses, view: viewDeployment },
    find: ({ tenant, params }) => findDeployment(cache, tenant, params['name']!),
  };
}

/** A deployment as clients see it. One that was read may be damaged; what was written is not, and is not parsed for it. */
export function renderDeployment(cache: Pick<Cache, 'get'>, entry: Entry, wasRead = true): Buffer {
  const sound = wasRead ? toSpliceable(entry) : entry;
  return spliceDocument(sound, STATUS, chooseStatus(sound, findStatus(cache, entry)));
}

/** A status of an earlier deployment of the same name is not this one's. */
function chooseStatus({ bytes }: Pick<Entry, 'bytes'>, status: Entry | undefined): Buffer {
  const shown = status && toSoundBytes(status);
  if (shown && readUid(shown) === readUid(bytes)) return shown;
  return DELETED.test(bytes.toString('latin1', 0, METADATA_LENGTH)) ? DELETING : PENDING;
}

/** The status of a deployment as answers show it. */
export function readStatus(cache: Cache, entry: Entry): Omit<DeploymentStatus, 'uid'> {
  return JSON.parse(chooseStatus(toSpliceable(entry), findStatus(cache, entry)).toString()) as Omit<
    DeploymentStatus,
    'uid'
  >;
}

/** Metadata comes first and is never longer than this. */
const METADATA_LENGTH = 512;

const BY_UID = 'api.deployments-by-uid';

/** Indexes deployments by their uid. To be called once, before the cache is filled. */
export function defineDeploymentIndex(cache: Cache): void {
  cache.defineIndex(BY_UID, ranges.deployments, ({ bytes }) => [readUid(bytes)]);
}

/**
 * The deployment of this tenant that a path names, by its name or by its id. What another tenant has is refused in the
 * same way as one that does not exist.
 */
export function findDeployment(cache: Cache, tenant: string, name: string): Entry | RequestRejection {
  if (isTypedId('dep', name)) {
    const [entry] = cache.by(BY_UID, name);
    if (entry?.key.startsWith(ranges.of(ranges.deployments, tenant))) return entry;
    return rejectRequest('deployment_not_found', 'deployment_id', name);
  }
  const entry = isDnsLabel(name) ? cache.get(keys.deployment(tenant, name)) : undefined;
  return entry ?? rejectRequest('deployment_not_found', 'name', name);
}

/** The same, as it is stored now. */
export async function loadDeployment(cache: Cache, tenant: string, name: string): Promise<Entry | RequestRejection> {
  await cache.barrier();
  return findDeployment(cache, tenant, name);
}

/** The status that belongs to a deployment, if there is one yet. */
export function findStatus(cache: Pick<Cache, 'get'>, { key }: Entry): Entry | undefined {
  return cache.get(toStatusKey(deploymentKind, key));
}
