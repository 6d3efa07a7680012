import { admitCreate, type StoredDeployment } from '../../../crds/deployment/index.js';
import { keys } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { value } from '../../../pkg/store/index.js';
import { type Asked, askedBy } from '../../admission/asked.js';
import { commitWith } from '../../admission/commit.js';
import { gatherFacts, nodeGuards } from '../../admission/facts.js';
import { quotaWarnings } from '../../admission/quota.js';
import { turnsOf } from '../../admission/conflict-keys.js';
import { firstMetadata, writeOf } from '../../admission/write.js';
import type { ApiEnv } from '../../env.js';
import type { Call } from '../../http/call.js';
import { attempts, untilShown } from '../../http/concurrency.js';
import { flagIn } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import { etagOf, writtenReply } from '../../http/reply.js';
import type { Outcome } from '../../http/route.js';
import { tryDeployment } from '../../admission/deployment-dry-run.js';
import { writtenDeployment } from './view.js';

/** Stores a new deployment, or says everything that is wrong with it. One transaction, and no read before it. */
export async function createDeployment(env: ApiEnv, call: Call): Promise<Outcome> {
  const isTrial = flagIn(call.query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  const asked = askedBy(call.document);
  if (isTrial) return tryCreate(env, call, asked);
  const turns = turnsOf(call.tenant, asked);
  return env.turnstile.pass(turns, () => attempts('deployment', () => createOnce(env, call, asked)));
}

/** Undefined when something it was judged by has changed since. */
async function createOnce(env: ApiEnv, call: Call, asked: Asked): Promise<Outcome | undefined> {
  const { tenant, document, caller, requestId } = call;
  const { facts, turns, guards } = await gatherFacts(env, tenant, asked);
  const admission = admitCreate(document, facts, env.deploymentLimits);
  if (!admission.ok) return new Refused(admission.rejections);

  const { spec, alterations, material } = admission;
  const warnings = [...admission.warnings, ...quotaWarnings(env, tenant, spec)];
  const key = keys.deployment(tenant, spec.name);
  const { change, bytes } = await writeOf(env, {
    kind: 'create',
    metadata: hash => firstMetadata(env, tenant, hash),
    spec,
    alterations,
    by: caller.id,
    operation: requestId,
    guards: [
      { key, at: 0 },
      { key: keys.tenant(tenant), exists: true },
      ...nodeGuards(env.cache, tenant, spec.nodeId),
      ...guards,
    ],
    turns,
  });
  const verdict = await commitWith(env, call, change, { subject: spec.name, writes: material, seen: facts.secretKeys });
  if (verdict instanceof Refused) return verdict;
  if (!verdict.stored) return explain(env, tenant, spec.name);

  const { revision } = verdict;
  if (turns.length > 0) await untilShown(env.cache, revision);
  const body = writtenDeployment({ bytes, revision }, undefined, alterations, warnings);
  const headers = { etag: etagOf(revision), location: `/api/v1/deployments/${spec.name}` };
  return writtenReply(201, body, headers, alterations);
}

async function tryCreate(env: ApiEnv, call: Call, asked: Asked): Promise<Outcome> {
  const { tenant, document } = call;
  const { facts } = await gatherFacts(env, tenant, asked);
  const admission = admitCreate(document, facts, env.dryRunLimits);
  if (!admission.ok) return new Refused(admission.rejections);
  return (await explain(env, tenant, admission.spec.name)) ?? tryDeployment(env, tenant, { admission, facts });
}

/** What keeps a deployment from being made, beside what it says itself. Undefined when nothing does, now. */
async function explain({ cache }: ApiEnv, tenant: string, name: string): Promise<Refused | undefined> {
  await cache.barrier();
  const standing = cache.get(keys.deployment(tenant, name));
  if (standing) {
    const isGoing = value<StoredDeployment>(standing).metadata.deletedAt !== undefined;
    return new Refused(reject('deployment_already_exists', 'name', isGoing ? `${name}, which is being deleted` : name));
  }
  return cache.get(keys.tenant(tenant)) ? undefined : new Refused(reject('resource_not_found', 'X-Tenant-ID', tenant));
}
