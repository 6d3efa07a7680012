import { keys } from '../../../crds/keys/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import type { StoredVolume } from '../../../crds/volume/index.js';
import type { EventDraft } from '../../../pkg/events/index.js';
import { encode, type Entry, type Guard, value } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import type { ApiCall } from '../../http/route.js';
import { changedMetadata } from '../../write/metadata.js';
import type { Plan, WriteInput, CachedEnv, Writing } from '../../write/write.js';
import { findNamedVolume, rejectUnusable, toVolumeResponse } from './view.js';

/** The record of a volume without what every write of it sets. */
export type VolumeDocument = Omit<StoredVolume, 'metadata' | 'id'>;

/** What is to be stored of a volume. */
export interface DocumentChange {
  readonly after: VolumeDocument;
  /** It was asked for before: nothing is stored. */
  readonly isSame?: boolean;
  readonly warnings?: readonly Warning[];
  /** Beside the volume itself. */
  readonly guards?: readonly Guard[];
  readonly describe: (next: StoredVolume) => EventDraft;
}

export type JudgedChange = DocumentChange | RequestRejection;

/** Plans the change of a stored volume, with its event. */
export function planChange(given: WriteInput, entry: Entry, change: DocumentChange): Plan {
  const { metadata, id, ...before } = value<StoredVolume>(entry);
  const { after, isSame = false, warnings, guards = [], describe } = change;
  if (isSame) return { before, after, warnings, shown: entry };
  const next: StoredVolume = { metadata: changedMetadata(given, metadata, after), id, ...after };
  return {
    record: { key: entry.key, bytes: encode(next) },
    over: entry,
    guards,
    events: [describe(next)],
    before,
    after,
    warnings,
  };
}

/** How the volume that a path names is changed while it, and where its bytes are, stay as they were judged. */
export function defineVolumeChange(
  judge: (stored: StoredVolume, call: ApiCall, env: CachedEnv<AdmissionEnv>, now: string) => JudgedChange,
): Writing<AdmissionEnv, undefined, DocumentChange> {
  return {
    name: 'volume',
    find: ({ cache }, call) => findNamedVolume(cache, call),
    judge: ({ call, stored: entry, now }, env) => {
      const unusable = rejectUnusable(entry!, call);
      if (unusable) return unusable;
      const stored = value<StoredVolume>(entry!);
      const { deletedAt } = stored.metadata;
      if (deletedAt === undefined) return judge(stored, call, env, now);
      return rejectRequest('volume_not_ready', 'id', call.params['id']!, { phase: 'Deleting' });
    },
    plan: (given, change, { cache }) => {
      const { metadata, id } = value<StoredVolume>(given.stored!);
      const status = keys.volumeStatus(metadata.tenant, id);
      const guards = [{ key: status, at: cache.get(status)?.revision ?? 0 }, ...(change.guards ?? [])];
      return planChange(given, given.stored!, { ...change, guards });
    },
    show: (env, volume) => toVolumeResponse(env, volume),
  };
}
