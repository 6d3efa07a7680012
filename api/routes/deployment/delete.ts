import { type StoredDeployment, toSpec } from '../../../crds/deployment/index.js';
import { type Entry, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../admission/dry-run.js';
import { updateMetadata, buildWrite } from '../../admission/write.js';
import type { AdmissionEnv } from '../../admission/env.js';
import type { ApiCall } from '../../http/call.js';
import { retryOnConflict, checkIfMatch } from '../../http/concurrency.js';
import { readFlag } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { etagHeader, replyJsonBytes } from '../../http/reply.js';
import type { RouteResult } from '../../http/route.js';
import { findDeployment, findStatus, renderWritten } from './view.js';

/** Requests the deletion of a deployment. The record stays, marked, until its containers are gone; a repeat changes nothing. */
export async function deleteDeployment(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(call.query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  return retryOnConflict(call.params['name']!, async () => {
    await env.cache.barrier();
    const entry = findDeployment(env.cache, call.tenant, call.params['name']!);
    if (entry instanceof RequestRejection) return entry;
    const mismatch = checkIfMatch(call.request.headers['if-match'], undefined, entry.revision);
    if (mismatch) return mismatch;
    return isDryRun ? replyDryRun({ before: toSpec(value<StoredDeployment>(entry)) }) : deleteOnce(env, call, entry);
  });
}

/** Undefined when a concurrent write was stored first. */
async function deleteOnce(env: AdmissionEnv, call: ApiCall, entry: Entry): Promise<RouteResult | undefined> {
  const answer = (written: Pick<Entry, 'bytes' | 'revision'>) =>
    replyJsonBytes(200, renderWritten(written, findStatus(env.cache, entry), [], []), etagHeader(written.revision));
  const stored = value<StoredDeployment>(entry);
  if (stored.metadata.deletedAt !== undefined) return answer(entry);

  const { change, bytes } = await buildWrite(env, {
    kind: 'delete',
    metadata: hash => {
      const next = updateMetadata(env, stored.metadata, hash);
      return { ...next, deletedAt: next.updatedAt };
    },
    spec: toSpec(stored),
    alterations: [],
    by: call.caller.id,
    operation: call.requestId,
    guards: [{ key: entry.key, at: entry.revision }],
  });
  const verdict = await env.store.commit(change);
  return verdict.stored ? answer({ bytes, revision: verdict.revision }) : undefined;
}
