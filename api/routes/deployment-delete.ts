import { type StoredDeployment, specOf } from '../../crds/deployment/index.js';
import { ConflictFault, type Entry, value } from '../../pkg/store/index.js';
import { nextMetadata, writeOf } from '../admission/written.js';
import type { Call } from '../call.js';
import type { ApiEnv } from '../env.js';
import { refuseUnlessMatches } from '../if-match.js';
import { Refused } from '../refusal.js';
import { etag, jsonBytes } from '../reply.js';
import type { Outcome } from '../route.js';
import { writtenDeployment } from '../views/deployment.js';
import { findDeployment, statusOf } from './find-deployment.js';

const ATTEMPTS = 5;

/** Asks for a deployment to go. The record stays, marked, until its containers are gone; asking again is the same. */
export async function deleteDeployment(env: ApiEnv, call: Call): Promise<Outcome> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    await env.cache.barrier();
    const entry = findDeployment(env.cache, call.tenant, call.params['name']!);
    if (entry instanceof Refused) return entry;
    const outcome = await deleteOnce(env, call, entry);
    if (outcome) return outcome;
  }
  throw new ConflictFault(call.params['name']!, ATTEMPTS);
}

/** Undefined when somebody else was first. */
async function deleteOnce(env: ApiEnv, call: Call, entry: Entry): Promise<Outcome | undefined> {
  const mismatch = refuseUnlessMatches(call.request.headers['if-match'], undefined, entry.revision);
  if (mismatch) return mismatch;
  const answer = (written: Pick<Entry, 'bytes' | 'revision'>) =>
    jsonBytes(200, writtenDeployment(written, statusOf(env.cache, entry), [], []), etag(written.revision));
  const stored = value<StoredDeployment>(entry);
  if (stored.metadata.deletedAt !== undefined) return answer(entry);

  const next = nextMetadata(env, stored.metadata, stored.metadata.specHash);
  const { change, bytes } = await writeOf(env, {
    kind: 'delete',
    metadata: { ...next, deletedAt: next.updatedAt },
    spec: specOf(stored),
    alterations: [],
    by: call.caller.id,
    operation: call.requestId,
    guards: [{ key: entry.key, at: entry.revision }],
  });
  const verdict = await env.store.commit(change);
  return verdict.stored ? answer({ bytes, revision: verdict.revision }) : undefined;
}
