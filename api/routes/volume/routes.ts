import { createTypedId } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import type { Alteration, Warning } from '../../../crds/rule/index.js';
import {
  admitVolume,
  rejectVolumeRemoval,
  type StoredVolume,
  toVolumeSubject,
  type VolumeSpec,
} from '../../../crds/volume/index.js';
import { encode, type Entry, value } from '../../../pkg/store/index.js';
import { guardConflictKeys, putConflictKeys } from '../../admission/conflict-keys.js';
import { replyDryRun } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { guardNode, readNodes } from '../../admission/facts.js';
import { checkCountQuota, findBytesReached, listCountConflictKeys } from '../../admission/quota.js';
import { listVolumeUsers } from '../../admission/relations.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';
import { createMoveRoutes } from './move.js';
import { createReplicaRoutes } from './replicas.js';
import { createDivergentRoutes } from './divergent.js';
import { resizeVolume } from './resize.js';
import { createSnapshotRoutes } from './snapshots.js';
import { findByName, findVolume, rejectChange, toVolumeResponse } from './view.js';

const COLLECTION = '/api/v1/dvm/volumes';

/** Writes of volumes. The volume keeper chooses the node, and the agent there makes and removes the bytes. */
export function createVolumeRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('deployer', 'POST', COLLECTION, call => createVolume(env, call)),
    defineRoute('deployer', 'PATCH', `${COLLECTION}/{id}`, call => resizeVolume(env, call)),
    defineRoute('deployer', 'DELETE', `${COLLECTION}/{id}`, call => deleteVolume(env, call)),
    ...createReplicaRoutes(env),
    ...createDivergentRoutes(env),
    ...createMoveRoutes(env),
    ...createSnapshotRoutes(env),
  ];
}

async function createVolume(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const { cache, mutex, staticFacts } = env;
  const { tenant } = call;
  return mutex.run(listCountConflictKeys(env, tenant, 'volumes'), () =>
    retryOnConflict('volume', async () => {
      const nodes = await readNodes(cache, tenant);
      const admission = admitVolume(call.document, { nodes, regions: staticFacts.regions });
      if (!admission.ok) return new RequestRejection(admission.rejections);
      const { spec, alterations, warnings } = admission;
      if (staticFacts.volumeManagement === 'off') {
        return rejectRequest('volume_binding_unavailable', 'volumes', spec.name);
      }
      if (findByName(cache, tenant, spec.name)) return rejectRequest('resource_already_exists', 'name', spec.name);
      const quota = checkCountQuota(env, tenant, 'volumes');
      if (quota.reached !== undefined) {
        return rejectRequest('quota_reached', 'name', tenant, { kind: 'volumes', limit: quota.reached });
      }
      const bytes = findBytesReached(env, tenant, 'volumeBytes', spec.sizeBytes);
      if (bytes !== undefined) {
        return rejectRequest('quota_reached', 'sizeBytes', tenant, { kind: 'volumeBytes', limit: bytes });
      }
      if (call.isDryRun) return replyDryRun({ after: spec, alterations, warnings });

      const stored = toStored(env, call, spec);
      const key = keys.volume(tenant, stored.id);
      const write = env.store.commit({
        guards: [
          { key, at: 0 },
          { key: keys.tenant(tenant), exists: true },
          ...guardNode(cache, tenant, spec.primaryNode),
          ...quota.guards,
        ],
        puts: [
          { key, bytes: encode(stored) },
          await env.events.put(draftEvent(call, stored, 'volume_created')),
          ...(await putConflictKeys(env.conflictLeases, quota.conflictKeys, call.requestId)),
        ],
        deletes: [],
      });
      if (!(await waitUntilStored(cache, write))) return undefined;
      return answer(env, 201, cache.get(key), alterations, warnings);
    }),
  );
}

/** Refused while something mounts it. The record stays until the agent of its node has removed the bytes. */
async function deleteVolume(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const { tenant } = call;
  const named = call.params['id']!;
  return retryOnConflict(named, async () => {
    await env.cache.barrier();
    const entry = findVolume(env.cache, tenant, named);
    if (entry instanceof RequestRejection) return entry;
    const refused = rejectChange(entry, call);
    if (refused) return refused;
    const stored = value<StoredVolume>(entry);
    if (stored.metadata.deletedAt !== undefined) return answer(env, 200, entry);
    const conflictKeys = [keys.conflict(tenant, toVolumeSubject(stored.id))];
    const guards = guardConflictKeys(env.cache, conflictKeys);
    const users = listVolumeUsers(env.cache, tenant, stored.id);
    const inUse = rejectVolumeRemoval({ id: stored.id, consumers: users });
    if (inUse) return new RequestRejection([inUse]);
    const { metadata, id: _, ...spec } = stored;
    if (call.isDryRun) return replyDryRun({ before: spec });

    const now = new Date(env.clock.now()).toISOString();
    const next: StoredVolume = { ...stored, metadata: { ...metadata, updatedAt: now, deletedAt: now } };
    const write = env.store.commit({
      guards: [{ key: entry.key, at: entry.revision }, ...guards],
      puts: [
        { key: entry.key, bytes: encode(next) },
        await env.events.put(draftEvent(call, next, 'volume_deletion_requested')),
        ...(await putConflictKeys(env.conflictLeases, conflictKeys, call.requestId)),
      ],
      deletes: [],
    });
    if (!(await waitUntilStored(env.cache, write))) return undefined;
    return answer(env, 200, env.cache.get(entry.key) ?? entry);
  });
}

function toStored({ clock, random }: AdmissionEnv, { tenant, toNotes }: ApiCall, spec: VolumeSpec): StoredVolume {
  const now = new Date(clock.now()).toISOString();
  const id = createTypedId('vol', count => random.bytes(count));
  return {
    metadata: {
      tenant,
      uid: id,
      generation: 1,
      createdAt: now,
      updatedAt: now,
      specHash: hashSpec(spec),
      ...toNotes?.(spec),
    },
    id,
    ...spec,
  };
}

function answer(
  env: AdmissionEnv,
  status: 200 | 201,
  entry: Entry | undefined,
  alterations: readonly Alteration[] = [],
  warnings: readonly Warning[] = [],
): RouteResult {
  // Between the write and the answer the keeper may have removed it already.
  if (!entry) return rejectRequest('volume_not_found', 'id', '', { in: 'path' });
  const shown = toVolumeResponse(env, entry);
  const headers = {
    ...buildEtagHeader(entry.revision),
    ...(status === 201 && { location: `${COLLECTION}/${shown.id}` }),
  };
  return { ...replyJson(status, { ...shown, alterations, warnings }, headers), alterations };
}

function draftEvent(
  { tenant, caller }: ApiCall,
  { id, name, class: kind, sizeBytes }: StoredVolume,
  reason: 'volume_created' | 'volume_deletion_requested',
) {
  const isCreated = reason === 'volume_created';
  const done = isCreated ? 'was created' : 'is being deleted';
  return {
    type: 'volume.phase_changed',
    tenant,
    subject: { kind: 'Volume', name, id },
    reason,
    message: `volume ${name} ${done} by ${describeCaller(caller)}`,
    data: { to: isCreated ? 'Pending' : 'Deleting', class: kind, sizeBytes, by: caller.id },
  } as const;
}
