import { type StoredDeployment, toSpec } from '../../../crds/deployment/index.js';
import { type Entry, value } from '../../../pkg/store/index.js';
import { trialReply } from '../../admission/dry-run.js';
import { nextMetadata, writeOf } from '../../admission/write.js';
import type { ApiEnv } from '../../env.js';
import type { Call } from '../../http/call.js';
import { attempts, refuseUnlessMatches } from '../../http/concurrency.js';
import { flagIn } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import { etag, jsonBytes } from '../../http/reply.js';
import type { Outcome } from '../../http/route.js';
import { findDeployment, statusOf, writtenDeployment } from './view.js';

/** Asks for a deployment to go. The record stays, marked, until its containers are gone; asking again is the same. */
export async function deleteDeployment(env: ApiEnv, call: Call): Promise<Outcome> {
  const isTrial = flagIn(call.query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  return attempts(call.params['name']!, async () => {
    await env.cache.barrier();
    const entry = findDeployment(env.cache, call.tenant, call.params['name']!);
    if (entry instanceof Refused) return entry;
    const mismatch = refuseUnlessMatches(call.request.headers['if-match'], undefined, entry.revision);
    if (mismatch) return mismatch;
    return isTrial ? trialReply({ before: toSpec(value<StoredDeployment>(entry)) }) : deleteOnce(env, call, entry);
  });
}

/** Undefined when somebody else was first. */
async function deleteOnce(env: ApiEnv, call: Call, entry: Entry): Promise<Outcome | undefined> {
  const answer = (written: Pick<Entry, 'bytes' | 'revision'>) =>
    jsonBytes(200, writtenDeployment(written, statusOf(env.cache, entry), [], []), etag(written.revision));
  const stored = value<StoredDeployment>(entry);
  if (stored.metadata.deletedAt !== undefined) return answer(entry);

  const { change, bytes } = await writeOf(env, {
    kind: 'delete',
    metadata: hash => {
      const next = nextMetadata(env, stored.metadata, hash);
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
