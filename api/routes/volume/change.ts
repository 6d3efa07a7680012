import { keys } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import type { StoredVolume } from '../../../crds/volume/index.js';
import type { EventDraft } from '../../../pkg/events/index.js';
import { encode, type Entry, type Guard, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import type { ApiCall, RouteResult } from '../../http/route.js';
import { findNamedVolume, rejectChange, toVolumeResponse } from './view.js';

/** The record of a volume without what every write of it sets. */
export type VolumeDocument = Omit<StoredVolume, 'metadata' | 'id'>;

/** What is to be stored of a volume. */
export interface DocumentChange {
  readonly after: VolumeDocument;
  /** It was asked for before: nothing is stored. */
  readonly isSame?: boolean;
  readonly warnings?: readonly Warning[];
  /** Beside the volume and its status. */
  readonly guards?: readonly Guard[];
  readonly describe: (next: StoredVolume) => EventDraft;
}

export type JudgedChange = DocumentChange | RequestRejection;

/** Changes the volume that a path names, with an event, while the volume and where its bytes are stay as they were judged. */
export function changeVolume(
  env: AdmissionEnv,
  call: ApiCall,
  judge: (stored: StoredVolume) => JudgedChange | Promise<JudgedChange>,
): Promise<RouteResult> {
  const { cache } = env;
  const named = call.params['id']!;
  return retryOnConflict(named, async () => {
    const entry = await findNamedVolume(cache, call);
    if (entry instanceof RequestRejection) return entry;
    const refused = rejectChange(entry, call);
    if (refused) return refused;
    const stored = value<StoredVolume>(entry);
    const { metadata, id, ...before } = stored;
    if (metadata.deletedAt !== undefined) return rejectRequest('volume_not_ready', 'id', named, { phase: 'Deleting' });
    const change = await judge(stored);
    if (change instanceof RequestRejection) return change;

    const { after, isSame = false, warnings = [], guards = [], describe } = change;
    if (call.isDryRun) return replyDryRun({ before, after, warnings });
    if (isSame) return answer(env, entry, named, warnings);
    const updatedAt = new Date(env.clock.now()).toISOString();
    const generation = metadata.generation + 1;
    const next = { metadata: { ...metadata, generation, updatedAt, specHash: hashSpec(after) }, id, ...after };
    const status = keys.volumeStatus(metadata.tenant, id);
    const write = env.store.commit({
      guards: [
        { key: entry.key, at: entry.revision },
        { key: status, at: cache.get(status)?.revision ?? 0 },
        ...guards,
      ],
      puts: [{ key: entry.key, bytes: encode(next) }, await env.events.put(describe(next))],
      deletes: [],
    });
    if (!(await waitUntilStored(cache, write))) return undefined;
    return answer(env, cache.get(entry.key), named, warnings);
  });
}

function answer(env: AdmissionEnv, entry: Entry | undefined, named: string, warnings: readonly Warning[]): RouteResult {
  // Between the write and the answer the volume may have been deleted.
  if (!entry) return rejectRequest('volume_not_found', 'id', named, { in: 'path' });
  const body = { ...toVolumeResponse(env, entry), alterations: [], warnings };
  return replyJson(200, body, buildEtagHeader(entry.revision));
}
