import { admitUpdate, type StoredDeployment } from '../../../crds/deployment/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { type Change, type Entry, value } from '../../../pkg/store/index.js';
import { readSubmitted } from '../../admission/submitted.js';
import { commitWithMaterial } from '../../admission/commit.js';
import { putConflictKeys, listConflictKeys } from '../../admission/conflict-keys.js';
import { type AdmittedDeployment, dryRunDeployment } from '../../admission/deployment-dry-run.js';
import { type GatheredFacts, gatherFacts, guardNode } from '../../admission/facts.js';
import { warnAboveQuota } from '../../admission/quota.js';
import { updateMetadata, buildWrite } from '../../admission/write.js';
import type { ApiEnv } from '../../env.js';
import type { ApiCall } from '../../http/call.js';
import { retryOnConflict, checkIfMatch, waitUntilCached } from '../../http/concurrency.js';
import { readFlag } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { etagHeader, replyWritten } from '../../http/reply.js';
import type { RouteResult } from '../../http/route.js';
import { findDeployment, findStatus, renderWritten } from './view.js';

/** Changes a stored deployment. The same content again changes nothing, and says so with the same answer. */
export async function replaceDeployment(env: ApiEnv, call: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(call.query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const entry = await find(env, call);
  if (entry instanceof RequestRejection) return entry;
  if (isDryRun) return dryRunReplace(env, call, entry);
  const conflictKeys = listConflictKeys(call.tenant, readSubmitted(call.document, value<StoredDeployment>(entry)));
  return env.mutex.run(conflictKeys, () => {
    let known: Entry | undefined = conflictKeys.length === 0 ? entry : undefined;
    return retryOnConflict(call.params['name']!, async () => {
      const current = known ?? (await find(env, call));
      known = undefined;
      return current instanceof RequestRejection ? current : replaceOnce(env, call, current);
    });
  });
}

async function find({ cache }: ApiEnv, { tenant, params }: ApiCall): Promise<Entry | RequestRejection> {
  await cache.barrier();
  return findDeployment(cache, tenant, params['name']!);
}

/** Undefined when somebody else was first. */
async function replaceOnce(env: ApiEnv, call: ApiCall, entry: Entry): Promise<RouteResult | undefined> {
  const stored = value<StoredDeployment>(entry);
  const judged = await judge(env, call, entry, env.deploymentLimits);
  if (judged instanceof RequestRejection) return judged;
  const { admission, gathered } = judged;
  const { spec, alterations, material } = admission;
  const warnings = [...admission.warnings, ...warnAboveQuota(env, call.tenant, spec)];
  const answer = (written: Pick<Entry, 'bytes' | 'revision'>) => {
    const body = renderWritten(written, findStatus(env.cache, entry), alterations, warnings);
    return replyWritten(200, body, etagHeader(written.revision), alterations);
  };
  const isSame = hashSpec(spec) === stored.metadata.specHash;
  if (isSame && material.length === 0) return answer(entry);

  const { change, bytes } = isSame
    ? { change: await materialAlone(env, call, gathered), bytes: entry.bytes }
    : await written(env, call, entry, judged);
  const { secretKeys: seen } = gathered.facts;
  const brought = { subject: spec.name, writes: material, seen, isAlone: isSame };
  const verdict = await commitWithMaterial(env, call, change, brought);
  if (verdict instanceof RequestRejection) return verdict;
  if (!verdict.stored) return undefined;
  if (gathered.conflictKeys.length > 0) await waitUntilCached(env.cache, verdict.revision);
  return answer(isSame ? entry : { bytes, revision: verdict.revision });
}

/** Material may come with a document that changes nothing else: it takes its conflictKeys all the same. */
async function materialAlone(
  env: ApiEnv,
  { requestId }: ApiCall,
  { conflictKeys, guards }: GatheredFacts,
): Promise<Change> {
  return { guards, puts: putConflictKeys(conflictKeys, requestId, await env.eventLeases.current()), deletes: [] };
}

interface Judged {
  readonly admission: AdmittedDeployment;
  readonly gathered: GatheredFacts;
}

async function judge(
  env: ApiEnv,
  { tenant, document, request }: ApiCall,
  entry: Entry,
  limits: ApiEnv['deploymentLimits'],
): Promise<Judged | RequestRejection> {
  const stored = value<StoredDeployment>(entry);
  const gathered = await gatherFacts(env, tenant, readSubmitted(document, stored));
  const admission = admitUpdate(stored, document, gathered.facts, limits);
  if (!admission.ok) return new RequestRejection(admission.rejections);
  const mismatch = checkIfMatch(request.headers['if-match'], admission.ifMatch, entry.revision);
  if (mismatch) return mismatch;
  if (stored.metadata.deletedAt !== undefined) {
    return new RequestRejection(reject('deployment_being_deleted', 'name', stored.name));
  }
  return { admission, gathered };
}

function written(env: ApiEnv, { tenant, caller, requestId }: ApiCall, entry: Entry, { admission, gathered }: Judged) {
  const { spec, alterations } = admission;
  return buildWrite(env, {
    kind: 'update',
    metadata: hash => updateMetadata(env, value<StoredDeployment>(entry).metadata, hash),
    spec,
    alterations,
    by: caller.id,
    operation: requestId,
    guards: [{ key: entry.key, at: entry.revision }, ...guardNode(env.cache, tenant, spec.nodeId), ...gathered.guards],
    conflictKeys: gathered.conflictKeys,
  });
}

async function dryRunReplace(env: ApiEnv, call: ApiCall, entry: Entry): Promise<RouteResult> {
  const judged = await judge(env, call, entry, env.dryRunLimits);
  if (judged instanceof RequestRejection) return judged;
  const { admission, gathered } = judged;
  return dryRunDeployment(env, call.tenant, { admission, facts: gathered.facts, entry });
}
