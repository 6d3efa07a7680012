/**
 * Creates, replaces and deletes deployments, and dry-runs all three: load, judge, store, answer.
 *
 * @module
 */
import { admitCreate, admitUpdate, type StoredDeployment, toSpec } from '../../../crds/deployment/index.js';
import { keys } from '../../../crds/keys/index.js';
import { failpoint } from '../../../pkg/failpoint/index.js';
import { encode, type Entry, type Guard, value } from '../../../pkg/store/index.js';
import { inSpan, type Span } from '../../../pkg/trace/index.js';
import { commitWithMaterial } from '../../write/material.js';
import { listConflictKeys, putConflictKeys } from '../../admission/conflict-keys.js';
import { type AdmittedDeployment, dryRunDeployment, warnUnresolved } from '../../admission/dry-run.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { type GatheredFacts, gatherFacts, guardNode } from '../../admission/facts.js';
import { putNotes, withNotes } from '../../write/metadata.js';
import { warnOfReplicas } from '../../admission/quota.js';
import {
  judgeRestored,
  readSecretsVersion,
  type RestoredParts,
  type SubmissionOrigin,
} from '../../admission/restore.js';
import { isUnchanged, warnRepeated } from '../../admission/scaling.js';
import { readSubmitted } from '../../admission/submitted.js';
import {
  buildWrite,
  type BuiltWrite,
  createDeploymentId,
  createMetadata,
  readLastRevision,
  updateMetadata,
} from '../../admission/write.js';
import { retryOnConflict } from '../../http/concurrency.js';
import { waitUntilCached } from '../../write/committer.js';
import { replyDryRun } from '../../write/answer.js';
import { checkIfMatch } from '../../write/if-match.js';
import { buildEtagHeader, JSON_TYPE, rejectRequest, replyJsonBytes, RequestRejection } from '../../http/reply.js';
import { toSpliceable } from '../../http/resource.js';
import type { ApiCall, RouteResult } from '../../http/route.js';
import { findStatus, loadDeployment, renderWritten } from './view.js';

/** A configuration that is to be stored. */
export interface Submission {
  /** Finds the deployment that it replaces, as it is stored now; undefined for one that is created. */
  readonly load: () => Promise<Entry | RequestRejection | undefined> | undefined;
  /** The document, over what is stored. */
  readonly toDocument: (stored: StoredDeployment | undefined) => unknown;
  /** Where it comes from, when that is not the request itself. */
  readonly origin?: SubmissionOrigin;
}

/** Stores a new deployment: one transaction, and no read before it. */
export function createDeployment(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  return submitDeployment(env, call, { load: () => undefined, toDocument: () => call.document });
}

/** Changes a stored deployment. The same content again changes nothing and gets the same answer. */
export function replaceDeployment(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  return submitDeployment(env, call, {
    load: () => loadDeployment(env.cache, call.tenant, call.params['name']!),
    toDocument: () => call.document,
  });
}

/** Judges and stores a configuration, or says what would become of it. */
export async function submitDeployment(env: AdmissionEnv, call: ApiCall, submission: Submission): Promise<RouteResult> {
  const { load, toDocument } = submission;
  const entry = await load();
  if (entry instanceof RequestRejection) return entry;
  if (call.isDryRun) return dryRun(env, call, submission, entry);

  const stored = entry && value<StoredDeployment>(entry);
  const conflictKeys = listConflictKeys(call.tenant, readSubmitted(toDocument(stored), stored));
  return env.mutex.run(conflictKeys, () => {
    // An entry that was read before waiting for the mutex may be stale.
    let isFresh = conflictKeys.length === 0;
    return retryOnConflict(call.params['name'] ?? 'deployment', async () => {
      const current = isFresh ? entry : await load();
      isFresh = false;
      if (current instanceof RequestRejection) return current;
      const judged = await inSpan(call.span, 'admission', span =>
        judge(env, call, submission, current, env.deploymentLimits, span),
      );
      return judged instanceof RequestRejection ? judged : store(env, call, judged);
    });
  });
}

async function dryRun(
  env: AdmissionEnv,
  call: ApiCall,
  submission: Submission,
  entry: Entry | undefined,
): Promise<RouteResult> {
  const judged = await judge(env, call, submission, entry, env.dryRunLimits);
  if (judged instanceof RequestRejection) return judged;
  const { admission, gathered } = judged;
  const obstacle = entry ? undefined : await findObstacle(env, call.tenant, admission.spec.name);
  return obstacle ?? dryRunDeployment(env, call.tenant, admission, gathered.facts, entry);
}

/** A document that may be stored. */
interface JudgedDocument {
  /** The stored deployment that it replaces; undefined for a new one. */
  readonly entry: Entry | undefined;
  readonly admission: AdmittedDeployment;
  readonly gathered: GatheredFacts;
  readonly origin: SubmissionOrigin | undefined;
  readonly restored: RestoredParts | undefined;
}

async function judge(
  env: AdmissionEnv,
  call: ApiCall,
  { toDocument, origin }: Submission,
  entry: Entry | undefined,
  limits: AdmissionEnv['deploymentLimits'],
  span?: Span,
): Promise<JudgedDocument | RequestRejection> {
  const { tenant, request } = call;
  const stored = entry && value<StoredDeployment>(entry);
  const document = toDocument(stored);
  const gathered = await gatherFacts(env, tenant, readSubmitted(document, stored), span);
  const { facts } = gathered;
  const admission = stored
    ? admitUpdate(stored, document, facts, limits)
    : admitCreate(document, facts, limits, origin && (await readSecretsVersion(env, tenant, origin)));
  if (!admission.ok) return new RequestRejection(admission.rejections);
  if (entry && stored) {
    const mismatch = checkIfMatch(request.headers['if-match'], admission.ifMatch, entry);
    if (mismatch) return mismatch;
    if (stored.metadata.deletedAt !== undefined) return rejectRequest('deployment_being_deleted', 'name', stored.name);
  } else if (origin && request.headers['if-match'] !== undefined) {
    // The deployment that the caller has seen was deleted meanwhile.
    return rejectRequest('revision_mismatch', 'If-Match', request.headers['if-match'], { current: 'none' });
  }
  const about = { spec: admission.spec, ...(stored && { before: stored }) };
  const restored = origin && (await judgeRestored(env, call, about, origin, limits));
  if (restored instanceof RequestRejection) return restored;
  const own = restored?.warnings ?? warnRepeated(env.cache, admission.spec, document, stored);
  return { entry, admission: { ...admission, warnings: [...own, ...admission.warnings] }, gathered, origin, restored };
}

/** Undefined when something that the document was judged by has changed since: it is judged again. */
async function store(env: AdmissionEnv, call: ApiCall, judged: JudgedDocument): Promise<RouteResult | undefined> {
  const { entry, admission, gathered } = judged;
  const { spec, alterations, material } = admission;
  const warnings = [
    ...admission.warnings,
    ...warnOfReplicas(env, call.tenant, spec, entry && value<StoredDeployment>(entry)),
    ...warnUnresolved(spec, material, gathered.facts.secretKeys),
  ];
  const answer = (written: Pick<Entry, 'bytes' | 'revision'>) => {
    const body = renderWritten(written, entry && findStatus(env.cache, entry), alterations, warnings);
    const etag = buildEtagHeader(written.revision);
    const headers = entry ? etag : { location: `/api/v1/deployments/${spec.name}`, ...etag };
    return { status: entry ? 200 : 201, body, type: JSON_TYPE, headers, alterations };
  };
  const isSame = isUnchanged(entry, spec, judged.restored);
  const noted = isSame && call.toNotes ? putNotes(entry, call.toNotes(spec)) : undefined;
  if (isSame && material.length === 0) {
    if (!noted) return answer(toSpliceable(entry));
    const verdict = await env.store.commit({
      guards: [{ key: noted.key, at: entry.revision }],
      puts: [noted],
      deletes: [],
    });
    return verdict.stored ? answer({ bytes: noted.bytes, revision: verdict.revision }) : undefined;
  }

  // Material that comes with an unchanged document is guarded by its conflict keys all the same.
  const { conflictKeys } = gathered;
  const guards = [...gathered.guards, ...(noted ? [{ key: noted.key, at: entry!.revision }] : [])];
  const puts = isSame ? await putConflictKeys(env.conflictLeases, conflictKeys, call.requestId) : [];
  const { change, bytes } = isSame
    ? { change: { guards, puts: [...puts, ...(noted ? [noted] : [])], deletes: [] }, bytes: noted?.bytes }
    : await buildDeploymentChange(env, call, judged);
  const isAlone = isSame && !noted;
  const submitted = { subject: spec.name, writes: material, seen: gathered.facts.secretKeys, isAlone };
  failpoint('deployment.storing');
  const verdict = await commitWithMaterial(env, call, change, submitted);
  if (verdict instanceof RequestRejection) return verdict;
  if (!verdict.stored) {
    if (entry) return undefined;
    const obstacle = await findObstacle(env, call.tenant, spec.name);
    // What is brought back replaces a deployment that was created meanwhile.
    return judged.origin && env.cache.get(keys.deployment(call.tenant, spec.name)) ? undefined : obstacle;
  }

  failpoint('deployment.stored');
  if (conflictKeys.length > 0) await waitUntilCached(env.cache, verdict.revision);
  return answer(bytes ? { bytes, revision: verdict.revision } : toSpliceable(entry!));
}

function buildDeploymentChange(
  env: AdmissionEnv,
  { tenant, caller, span, requestId, toNotes }: ApiCall,
  { entry, admission: { spec, alterations }, gathered, origin, restored }: JudgedDocument,
): Promise<BuiltWrite> {
  const { change, fromRevision, fromBackup, events, revisions = [] } = origin ?? {};
  const stored = entry && value<StoredDeployment>(entry);
  const former = stored ? undefined : readLastRevision(env, tenant, spec.name);
  const imported = former?.lastRevision === 0 ? revisions : [];
  const uid = stored?.metadata.uid ?? createDeploymentId(env);
  const after = imported.at(-1)?.revision ?? former?.lastRevision ?? 0;
  const own: readonly Guard[] = entry
    ? [{ key: entry.key, at: entry.revision }]
    : [
        { key: keys.deployment(tenant, spec.name), at: 0 },
        { key: keys.tenant(tenant), exists: true },
        ...(former ? [former.guard] : []),
      ];
  return buildWrite(env, {
    spec,
    alterations,
    caller,
    span,
    operation: requestId,
    conflictKeys: gathered.conflictKeys,
    fromRevision,
    fromBackup,
    events,
    change: change ?? (stored ? 'update' : 'create'),
    before: stored && toSpec(stored),
    metadata: hash => {
      const next = stored
        ? updateMetadata(env, stored.metadata, hash)
        : createMetadata(env, { tenant, uid, after }, hash);
      return withNotes(next, toNotes?.(spec));
    },
    more: restored?.toChange(uid),
    puts: imported.map(each => ({ key: keys.archive(tenant, uid, each.revision), bytes: encode(each) })),
    guards: [...own, ...guardNode(env.cache, tenant, spec.nodeId), ...gathered.guards],
  });
}

/** Why a new deployment cannot be stored although its document is valid. Undefined when nothing prevents it now. */
async function findObstacle(
  { cache }: AdmissionEnv,
  tenant: string,
  name: string,
): Promise<RequestRejection | undefined> {
  await cache.barrier();
  const existing = cache.get(keys.deployment(tenant, name));
  if (existing) {
    const isDeleting = value<StoredDeployment>(existing).metadata.deletedAt !== undefined;
    const received = isDeleting ? `${name}, which is being deleted` : name;
    return rejectRequest('deployment_already_exists', 'name', received);
  }
  return cache.get(keys.tenant(tenant)) ? undefined : rejectRequest('resource_not_found', 'X-Tenant-ID', tenant);
}

/** Requests the deletion of a deployment. The record stays, marked, until its containers are gone; a repeat changes nothing. */
export async function deleteDeployment(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  return retryOnConflict(call.params['name']!, async () => {
    const entry = await loadDeployment(env.cache, call.tenant, call.params['name']!);
    if (entry instanceof RequestRejection) return entry;
    const mismatch = checkIfMatch(call.request.headers['if-match'], undefined, entry);
    if (mismatch) return mismatch;
    if (call.isDryRun) return replyDryRun({ before: toSpec(value<StoredDeployment>(entry)) });
    return deleteOnce(env, call, entry);
  });
}

/** Undefined when a concurrent write was stored first. */
async function deleteOnce(env: AdmissionEnv, call: ApiCall, entry: Entry): Promise<RouteResult | undefined> {
  const answer = (written: Pick<Entry, 'bytes' | 'revision'>) =>
    replyJsonBytes(
      200,
      renderWritten(written, findStatus(env.cache, entry), [], []),
      buildEtagHeader(written.revision),
    );
  const stored = value<StoredDeployment>(entry);
  if (stored.metadata.deletedAt !== undefined) return answer(toSpliceable(entry));

  const { change, bytes } = await buildWrite(env, {
    change: 'delete',
    metadata: hash => {
      const next = updateMetadata(env, stored.metadata, hash);
      return { ...next, deletedAt: next.updatedAt };
    },
    spec: toSpec(stored),
    alterations: [],
    caller: call.caller,
    span: call.span,
    operation: call.requestId,
    guards: [{ key: entry.key, at: entry.revision }],
  });
  const verdict = await env.store.commit(change);
  return verdict.stored ? answer({ bytes, revision: verdict.revision }) : undefined;
}
