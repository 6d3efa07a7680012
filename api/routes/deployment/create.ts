import { admitCreate, type StoredDeployment } from '../../../crds/deployment/index.js';
import { keys } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { value } from '../../../pkg/store/index.js';
import { type SubmittedDocument, readSubmitted } from '../../admission/submitted.js';
import { commitWithMaterial } from '../../admission/commit.js';
import { gatherFacts, guardNode } from '../../admission/facts.js';
import { warnAboveQuota } from '../../admission/quota.js';
import { listConflictKeys } from '../../admission/conflict-keys.js';
import { createMetadata, buildWrite } from '../../admission/write.js';
import type { ApiEnv } from '../../env.js';
import type { ApiCall } from '../../http/call.js';
import { retryOnConflict, waitUntilCached } from '../../http/concurrency.js';
import { readFlag } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { formatEtag, replyWritten } from '../../http/reply.js';
import type { RouteResult } from '../../http/route.js';
import { dryRunDeployment } from '../../admission/deployment-dry-run.js';
import { renderWritten } from './view.js';

/** Stores a new deployment, or says everything that is wrong with it. One transaction, and no read before it. */
export async function createDeployment(env: ApiEnv, call: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(call.query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const asked = readSubmitted(call.document);
  if (isDryRun) return dryRunCreate(env, call, asked);
  const conflictKeys = listConflictKeys(call.tenant, asked);
  return env.mutex.run(conflictKeys, () => retryOnConflict('deployment', () => createOnce(env, call, asked)));
}

/** Undefined when something it was judged by has changed since. */
async function createOnce(env: ApiEnv, call: ApiCall, asked: SubmittedDocument): Promise<RouteResult | undefined> {
  const { tenant, document, caller, requestId } = call;
  const { facts, conflictKeys, guards } = await gatherFacts(env, tenant, asked);
  const admission = admitCreate(document, facts, env.deploymentLimits);
  if (!admission.ok) return new RequestRejection(admission.rejections);

  const { spec, alterations, material } = admission;
  const warnings = [...admission.warnings, ...warnAboveQuota(env, tenant, spec)];
  const key = keys.deployment(tenant, spec.name);
  const { change, bytes } = await buildWrite(env, {
    kind: 'create',
    metadata: hash => createMetadata(env, tenant, hash),
    spec,
    alterations,
    by: caller.id,
    operation: requestId,
    guards: [
      { key, at: 0 },
      { key: keys.tenant(tenant), exists: true },
      ...guardNode(env.cache, tenant, spec.nodeId),
      ...guards,
    ],
    conflictKeys,
  });
  const verdict = await commitWithMaterial(env, call, change, {
    subject: spec.name,
    writes: material,
    seen: facts.secretKeys,
  });
  if (verdict instanceof RequestRejection) return verdict;
  if (!verdict.stored) return explain(env, tenant, spec.name);

  const { revision } = verdict;
  if (conflictKeys.length > 0) await waitUntilCached(env.cache, revision);
  const body = renderWritten({ bytes, revision }, undefined, alterations, warnings);
  const headers = { etag: formatEtag(revision), location: `/api/v1/deployments/${spec.name}` };
  return replyWritten(201, body, headers, alterations);
}

async function dryRunCreate(env: ApiEnv, call: ApiCall, asked: SubmittedDocument): Promise<RouteResult> {
  const { tenant, document } = call;
  const { facts } = await gatherFacts(env, tenant, asked);
  const admission = admitCreate(document, facts, env.dryRunLimits);
  if (!admission.ok) return new RequestRejection(admission.rejections);
  return (await explain(env, tenant, admission.spec.name)) ?? dryRunDeployment(env, tenant, { admission, facts });
}

/** What keeps a deployment from being made, beside what it says itself. Undefined when nothing does, now. */
async function explain({ cache }: ApiEnv, tenant: string, name: string): Promise<RequestRejection | undefined> {
  await cache.barrier();
  const standing = cache.get(keys.deployment(tenant, name));
  if (standing) {
    const isGoing = value<StoredDeployment>(standing).metadata.deletedAt !== undefined;
    return new RequestRejection(
      reject('deployment_already_exists', 'name', isGoing ? `${name}, which is being deleted` : name),
    );
  }
  return cache.get(keys.tenant(tenant))
    ? undefined
    : new RequestRejection(reject('resource_not_found', 'X-Tenant-ID', tenant));
}
