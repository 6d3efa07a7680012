import type { FormerDeployments } from '../../../crds/archive/index.js';
import {
  type Deployment,
  formatChanges,
  type StoredDeployment,
  summariseChanges,
  toSpec,
} from '../../../crds/deployment/index.js';
import { createTypedId } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import type { Metadata } from '../../../crds/meta/index.js';
import type { EventDraft } from '../../../pkg/events/index.js';
import { buildRevision, type RevisionCause } from '../../../pkg/history/index.js';
import { type Cache, encode, type Put, value } from '../../../pkg/store/index.js';
import type { SubmissionOrigin } from '../../admission/restore.js';
import { describeCaller } from '../../http/route.js';
import { changedMetadata, newMetadata } from '../../write/metadata.js';
import type { Plan, WriteInput } from '../../write/write.js';

/** A configuration to be stored, and why. */
interface NextRevision extends Pick<RevisionCause, 'alterations'> {
  readonly change: keyof typeof EVENTS;
  readonly spec: Deployment;
  /** Where it comes from, when that is not the request itself. */
  readonly origin?: SubmissionOrigin | undefined;
}

/** The part of a plan that stores a deployment, its archive entry and its event. */
type RevisionPlan = Required<Pick<Plan, 'record' | 'puts' | 'guards' | 'events' | 'proof'>> & { readonly uid: string };

/** Plans the next revision of a stored deployment, or the first of a new one. */
export function planRevision(given: WriteInput, cache: Pick<Cache, 'get'>, next: NextRevision): RevisionPlan {
  const { call, stored: entry } = given;
  const { change, spec, alterations, origin } = next;
  const stored = entry && value<StoredDeployment>(entry);
  const former = stored ? undefined : readFormer(cache, call.tenant, spec.name);
  const imported = former?.lastRevision === 0 ? (origin?.revisions ?? []) : [];
  const after = imported.at(-1)?.revision ?? former?.lastRevision ?? 0;
  const toMetadata = (hash: string): Metadata => {
    if (!stored) {
      const uid = createTypedId('dep', count => given.random.bytes(count));
      return { ...newMetadata(given, uid, spec, hash), generation: after + 1 };
    }
    const metadata = changedMetadata(given, stored.metadata, spec, hash);
    return change === 'delete' ? { ...metadata, deletedAt: given.now } : metadata;
  };
  const { fromRevision, fromBackup } = origin ?? {};
  const cause = { change, by: call.caller.id, operation: call.requestId, alterations, fromRevision, fromBackup };
  const { metadata, puts } = buildRevision(spec, toMetadata, cause);
  const [record, archive] = puts;
  return {
    record,
    puts: [archive, ...imported.map((each): Put => toArchive(metadata, each.revision, encode(each)))],
    guards: former ? [former.guard] : [],
    events: [draftEvent(given, next, metadata), ...(origin?.events ?? [])],
    proof: archive.key,
    uid: metadata.uid,
  };
}

function toArchive({ tenant, uid }: Metadata, revision: number, bytes: Buffer): Put {
  return { key: keys.archive(tenant, uid, revision), bytes };
}

/** The last revision of a name that has no deployment now, and the guard that fails when there is a later one. */
function readFormer(cache: Pick<Cache, 'get'>, tenant: string, name: string) {
  const key = keys.formerDeployments(tenant, name);
  const entry = cache.get(key);
  const last = entry && value<FormerDeployments>(entry).deployments.at(-1);
  return { lastRevision: last?.lastRevision ?? 0, guard: { key, at: entry?.revision ?? 0 } };
}

const EVENTS = {
  create: { type: 'deployment.created', reason: 'created', done: 'was created' },
  update: { type: 'deployment.updated', reason: 'updated', done: 'was changed' },
  rollback: { type: 'deployment.rolled_back', reason: 'rolled_back', done: 'was rolled back' },
  restore: { type: 'deployment.updated', reason: 'restored', done: 'was restored from a backup' },
  delete: { type: 'deployment.updated', reason: 'deletion_requested', done: 'is being deleted' },
} as const;

/** Says what was changed, and by whom; no value that looks like a credential is in it. */
function draftEvent(
  { call: { caller }, stored }: WriteInput,
  { change, spec, origin }: NextRevision,
  metadata: Metadata,
): EventDraft {
  const { type, reason, done } = EVENTS[change];
  const { fromRevision, fromBackup } = origin ?? {};
  const isCompared = stored !== undefined && change !== 'delete';
  const summary = isCompared ? summariseChanges(toSpec(value<StoredDeployment>(stored)), spec) : undefined;
  const changes = summary && formatChanges(summary);
  const source = fromRevision === undefined ? '' : ` to revision ${fromRevision}`;
  return {
    type,
    tenant: metadata.tenant,
    subject: { kind: 'Deployment', name: spec.name, id: metadata.uid },
    reason,
    message: `deployment ${spec.name} ${done}${source} by ${describeCaller(caller)}${changes ? `: ${changes}` : ''}`,
    data: {
      generation: metadata.generation,
      by: caller.id,
      fromRevision,
      fromBackup,
      changes: summary?.changes,
      moreChanges: summary?.more || undefined,
    },
  };
}
