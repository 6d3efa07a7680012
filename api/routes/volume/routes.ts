import { createTypedId } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import type { Admitted } from '../../../crds/rule/index.js';
import {
  admitVolume,
  rejectVolumeRemoval,
  type StoredVolume,
  toVolumeSubject,
  type VolumeSpec,
} from '../../../crds/volume/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { guardNode, type KnownNodes, listKnownNodes } from '../../admission/facts.js';
import { findBytesReached, findCountReached, guardQuotas, listCountConflictKeys } from '../../admission/quota.js';
import { listVolumeUsers } from '../../admission/relations.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route } from '../../http/route.js';
import { newMetadata } from '../../write/metadata.js';
import { write, type Writing } from '../../write/write.js';
import { createDivergentRoutes } from './divergent.js';
import { createMoveRoutes } from './move.js';
import { createReplicaRoutes } from './replicas.js';
import { resizing } from './resize.js';
import { createSnapshotRoutes } from './snapshots.js';
import { findByName, findVolume, rejectUnmanaged, rejectUnusable, toVolumeResponse } from './view.js';

const COLLECTION = '/api/v1/dvm/volumes';

/** Writes of volumes. The volume keeper chooses the node, and the agent there makes and removes the bytes. */
export function createVolumeRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('deployer', 'POST', COLLECTION, call => write(env, call, creation)),
    defineRoute('deployer', 'PATCH', `${COLLECTION}/{id}`, call => write(env, call, resizing)),
    defineRoute('deployer', 'DELETE', `${COLLECTION}/{id}`, call => write(env, call, removal)),
    ...createReplicaRoutes(env),
    ...createDivergentRoutes(env),
    ...createMoveRoutes(env),
    ...createSnapshotRoutes(env),
  ];
}

const creation: Writing<AdmissionEnv, KnownNodes, Admitted<VolumeSpec>> = {
  name: 'volume',
  freshness: () => 'nodes',
  conflictKeys: (env, { tenant }) => listCountConflictKeys(env, tenant, 'volumes'),
  facts: ({ cache }, { tenant }, { isFresh }) => (isFresh ? listKnownNodes(cache, tenant) : 'unreadable'),
  judge: ({ call: { tenant, document }, facts: nodes }, env) => {
    const { regions } = env.staticFacts;
    const admission = admitVolume(document, { nodes, regions });
    if (!admission.ok) return new RequestRejection(admission.rejections);
    const { spec } = admission;
    const unmanaged = rejectUnmanaged(env.staticFacts, spec);
    if (unmanaged) return unmanaged;
    if (findByName(env.cache, tenant, spec.name)) return rejectRequest('resource_already_exists', 'name', spec.name);
    const limit = findCountReached(env, tenant, 'volumes');
    if (limit !== undefined) return rejectRequest('quota_reached', 'name', tenant, { kind: 'volumes', limit });
    const bytes = findBytesReached(env, tenant, 'volumeBytes', spec.sizeBytes);
    if (bytes === undefined) return admission;
    return rejectRequest('quota_reached', 'sizeBytes', tenant, { kind: 'volumeBytes', limit: bytes });
  },
  plan: (given, { spec, alterations, warnings }, { cache }) => {
    const { tenant } = given.call;
    const id = createTypedId('vol', count => given.random.bytes(count));
    const volume: StoredVolume = { metadata: newMetadata(given, id, spec), id, ...spec };
    return {
      record: { key: keys.volume(tenant, id), bytes: encode(volume) },
      guards: [...guardNode(cache, tenant, spec.primaryNode), guardQuotas(cache, tenant)],
      events: [draftEvent(given.call, volume, 'volume_created')],
      after: spec,
      alterations,
      warnings,
      location: `${COLLECTION}/${id}`,
    };
  },
  show: (env, volume) => toVolumeResponse(env, volume),
};

/** Refused while something mounts it. The record stays until the agent of its node has removed the bytes. */
const removal: Writing<AdmissionEnv, undefined, StoredVolume> = {
  name: 'volume',
  find: ({ cache }, { tenant, params }) => findVolume(cache, tenant, params['id']!),
  conflictKeys: (_env, { tenant }, stored) => [keys.conflict(tenant, toVolumeSubject(value<StoredVolume>(stored!).id))],
  judge: ({ call, stored: entry }, { cache }) => {
    const unusable = rejectUnusable(entry!, call);
    if (unusable) return unusable;
    const stored = value<StoredVolume>(entry!);
    if (stored.metadata.deletedAt !== undefined) return stored;
    const inUse = rejectVolumeRemoval({ id: stored.id, consumers: listVolumeUsers(cache, call.tenant, stored.id) });
    return inUse ? new RequestRejection([inUse]) : stored;
  },
  plan: ({ call, stored: entry, now }, stored) => {
    const { metadata, id: _, ...before } = stored;
    if (metadata.deletedAt !== undefined) return { before, after: before };
    const next: StoredVolume = { ...stored, metadata: { ...metadata, updatedAt: now, deletedAt: now } };
    return {
      record: { key: entry!.key, bytes: encode(next) },
      events: [draftEvent(call, next, 'volume_deletion_requested')],
      before,
    };
  },
  show: (env, volume) => toVolumeResponse(env, volume),
};

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
