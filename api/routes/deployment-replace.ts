import { admitUpdate, type StoredDeployment } from '../../crds/deployment/index.js';
import { specHash } from '../../crds/meta/index.js';
import { reject } from '../../crds/rejections/index.js';
import { ConflictFault, type Entry, value } from '../../pkg/store/index.js';
import { factsFor, guardsOf } from '../admission/facts.js';
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

/** Changes a stored deployment. The same content again changes nothing, and says so with the same answer. */
export async function replaceDeployment(env: ApiEnv, call: Call): Promise<Outcome> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    await env.cache.barrier();
    const entry = findDeployment(env.cache, call.tenant, call.params['name']!);
    if (entry instanceof Refused) return entry;
    const outcome = await replaceOnce(env, call, entry);
    if (outcome) return outcome;
  }
  throw new ConflictFault(call.params['name']!, ATTEMPTS);
}

/** Undefined when somebody else was first. */
async function replaceOnce(env: ApiEnv, call: Call, entry: Entry): Promise<Outcome | undefined> {
  const { tenant, document, caller, requestId } = call;
  const stored = value<StoredDeployment>(entry);
  const facts = await factsFor(env, { tenant, document, stored });
  const admission = admitUpdate(stored, document, facts, env.deploymentLimits);
  if (!admission.ok) return new Refused(admission.rejections);

  const { spec, alterations, warnings, ifMatch } = admission;
  const mismatch = refuseUnlessMatches(call.request.headers['if-match'], ifMatch, entry.revision);
  if (mismatch) return mismatch;
  if (stored.metadata.deletedAt !== undefined) {
    return new Refused(reject('deployment_being_deleted', 'name', stored.name));
  }
  const answer = (written: Pick<Entry, 'bytes' | 'revision'>) => {
    const body = writtenDeployment(written, statusOf(env.cache, entry), alterations, warnings);
    return { ...jsonBytes(200, body, etag(written.revision)), alterations };
  };
  const hash = specHash(spec);
  if (hash === stored.metadata.specHash) return answer(entry);

  const { change, bytes } = await writeOf(env, {
    kind: 'update',
    metadata: nextMetadata(env, stored.metadata, hash),
    spec,
    alterations,
    by: caller.id,
    operation: requestId,
    guards: [{ key: entry.key, at: entry.revision }, ...guardsOf(env.cache, tenant, spec.nodeId)],
  });
  const verdict = await env.store.commit(change);
  return verdict.stored ? answer({ bytes, revision: verdict.revision }) : undefined;
}
