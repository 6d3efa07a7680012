import type { FormerDeployments } from '../../crds/archive/index.js';
import { type Deployment, formatChanges, summariseChanges } from '../../crds/deployment/index.js';
import { createTypedId } from '../../crds/grammar/index.js';
import { keys } from '../../crds/keys/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import type { Metadata } from '../../crds/meta/index.js';
import { buildRevision, nextMetadata, type RevisionCause } from '../../pkg/history/index.js';
import { type Change, type Guard, type Put, value } from '../../pkg/store/index.js';
import type { Span } from '../../pkg/trace/index.js';
import { type Caller, describeCaller } from '../http/route.js';
import { toTraceMetadata } from '../write/metadata.js';
import type { AdmissionEnv } from './env.js';
import { putConflictKeys } from './conflict-keys.js';

/** A deployment to be written, and why. */
export interface DeploymentWrite extends Omit<RevisionCause, 'by' | 'reason'> {
  readonly change: keyof typeof EVENTS;
  /** The metadata, once the hash of the spec is known. */
  readonly metadata: (specHash: string) => Metadata;
  readonly spec: Deployment;
  /** What is stored now, of a change. */
  readonly before?: Deployment | undefined;
  readonly caller: Caller;
  /** That of the request, when it is traced. */
  readonly span?: Span | undefined;
  /** What must still hold when it is stored. */
  readonly guards: readonly Guard[];
  /** The conflict keys that it changes. */
  readonly conflictKeys?: readonly string[];
  /** Further drafts of events, and puts, of the same transaction. */
  readonly events?: readonly EventDraft[] | undefined;
  readonly puts?: readonly Put[];
  /** A further change of the same transaction. */
  readonly more?: Change | undefined;
}

/** A change to commit, with the bytes of the deployment in it. */
export interface BuiltWrite {
  readonly change: Change;
  readonly bytes: Buffer;
}

/** The id of a new deployment. */
export function createDeploymentId({ random }: AdmissionEnv): string {
  return createTypedId('dep', count => random.bytes(count));
}

/** Metadata of a new deployment. Its revisions continue `after` the last one of its name. */
export function createMetadata(
  { clock }: AdmissionEnv,
  { tenant, uid, after }: { readonly tenant: string; readonly uid: string; readonly after: number },
  specHash: string,
): Metadata {
  const now = new Date(clock.now()).toISOString();
  return { tenant, uid, generation: after + 1, createdAt: now, updatedAt: now, specHash };
}

/** Metadata of the next configuration of a deployment. */
export function updateMetadata({ clock }: AdmissionEnv, before: Metadata, specHash: string): Metadata {
  return nextMetadata(before, specHash, clock.now());
}

/** The last revision of a name that has no deployment now, and the guard that fails when there is a later one. */
export function readLastRevision({ cache }: AdmissionEnv, tenant: string, name: string) {
  const key = keys.formerDeployments(tenant, name);
  const entry = cache.get(key);
  const guard: Guard = { key, at: entry?.revision ?? 0 };
  return { lastRevision: (entry && value<FormerDeployments>(entry).deployments.at(-1)?.lastRevision) ?? 0, guard };
}

/** The one change that stores a deployment, its archive entry and its event, together or not at all. */
export async function buildWrite(env: AdmissionEnv, write: DeploymentWrite): Promise<BuiltWrite> {
  const { spec, metadata: toMetadata, caller, guards, conflictKeys = [], events = [], more } = write;
  const { change, operation, alterations, fromRevision, fromBackup } = write;
  const withTrace = (hash: string): Metadata => ({ ...toMetadata(hash), ...toTraceMetadata(write.span) });
  const { metadata, bytes, puts } = buildRevision(spec, write.span ? withTrace : toMetadata, {
    change,
    by: caller.id,
    operation,
    alterations,
    fromRevision,
    fromBackup,
  });
  const drafts = [toEvent(write, metadata), ...events];
  const all = [
    ...puts,
    ...(await Promise.all(drafts.map(draft => env.events.put(draft)))),
    ...(write.puts ?? []),
    ...(more?.puts ?? []),
    ...(await putConflictKeys(env.conflictLeases, conflictKeys, operation)),
  ];
  const whole = more ? [...guards, ...more.guards] : guards;
  return { change: { guards: whole, puts: all, deletes: more?.deletes ?? [], proof: puts[1].key }, bytes };
}

const EVENTS = {
  create: { type: 'deployment.created', reason: 'created', done: 'was created' },
  update: { type: 'deployment.updated', reason: 'updated', done: 'was changed' },
  rollback: { type: 'deployment.rolled_back', reason: 'rolled_back', done: 'was rolled back' },
  restore: { type: 'deployment.updated', reason: 'restored', done: 'was restored from a backup' },
  delete: { type: 'deployment.updated', reason: 'deletion_requested', done: 'is being deleted' },
} as const;

/** Says what was changed, and by whom; no value that looks like a credential is in it. */
function toEvent({ change, spec, before, caller, fromRevision, fromBackup }: DeploymentWrite, metadata: Metadata) {
  const { type, reason, done } = EVENTS[change];
  const summary = before && summariseChanges(before, spec);
  const changes = summary && formatChanges(summary);
  const source = fromRevision === undefined ? '' : ` to revision ${fromRevision}`;
  return {
    type,
    tenant: metadata.tenant,
    subject: { kind: 'Deployment', name: spec.name, id: metadata.uid } as const,
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
