import { admitCreate, type StoredDeployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import { reject } from '../../crds/rejections/index.js';
import { value } from '../../pkg/store/index.js';
import { factsFor, guardsOf } from '../admission/facts.js';
import { firstMetadata, writeOf } from '../admission/written.js';
import type { Call } from '../call.js';
import type { ApiEnv } from '../env.js';
import { Refused } from '../refusal.js';
import { etag, jsonBytes } from '../reply.js';
import type { Outcome } from '../route.js';
import { writtenDeployment } from '../views/deployment.js';

/** Stores a new deployment, or says everything that is wrong with it. One transaction, and no read before it. */
export async function createDeployment(env: ApiEnv, call: Call): Promise<Outcome> {
  const { tenant, document, caller, requestId } = call;
  const facts = await factsFor(env, { tenant, document });
  const admission = admitCreate(document, facts, env.deploymentLimits);
  if (!admission.ok) return new Refused(admission.rejections);

  const { spec, alterations, warnings } = admission;
  const key = keys.deployment(tenant, spec.name);
  const metadata = firstMetadata(env, tenant, spec);
  const { change, bytes } = await writeOf(env, {
    kind: 'create',
    metadata,
    spec,
    alterations,
    by: caller.id,
    operation: requestId,
    guards: [{ key, at: 0 }, { key: keys.tenant(tenant), exists: true }, ...guardsOf(env.cache, tenant, spec.nodeId)],
  });
  const verdict = await env.store.commit(change);
  if (!verdict.stored) return explain(env, call, spec.name);

  const { revision } = verdict;
  const body = writtenDeployment({ bytes, revision }, undefined, alterations, warnings);
  const headers = { ...etag(revision), location: `/api/v1/deployments/${spec.name}` };
  return { ...jsonBytes(201, body, headers), alterations };
}

/** Which guard it was that did not hold. */
async function explain(env: ApiEnv, call: Call, name: string): Promise<Outcome> {
  await env.cache.barrier();
  const standing = env.cache.get(keys.deployment(call.tenant, name));
  if (standing) {
    const isGoing = value<StoredDeployment>(standing).metadata.deletedAt !== undefined;
    return new Refused(reject('deployment_already_exists', 'name', isGoing ? `${name}, which is being deleted` : name));
  }
  if (!env.cache.get(keys.tenant(call.tenant))) {
    return new Refused(reject('resource_not_found', 'X-Tenant-ID', call.tenant));
  }
  return createDeployment(env, call); // the node or the name has just gone: judge it afresh
}
