import { createTypedId } from '../../../crds/grammar/index.js';
import { admitJob, type Job, jobKind, markDeleted, type StoredJob, toJobSpec } from '../../../crds/job/index.js';
import { keys } from '../../../crds/keys/index.js';
import { hashSpec, type Metadata } from '../../../crds/meta/index.js';
import { toJobWorkload } from '../../../crds/replica/index.js';
import { explainDeployment } from '../../../pkg/fleet/index.js';
import { encode, type Entry, value } from '../../../pkg/store/index.js';
import { commitWithMaterial } from '../../write/material.js';
import { listConflictKeys, putConflictKeys } from '../../admission/conflict-keys.js';
import { dryRunSecrets, previewWorkload, toExplanationView, warnUnresolved } from '../../admission/dry-run.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { type GatheredFacts, gatherFacts, guardNode } from '../../admission/facts.js';
import { warnAboveQuota } from '../../admission/quota.js';
import { readSubmitted } from '../../admission/submitted.js';
import { replyDryRun } from '../../write/answer.js';
import { toTraceMetadata } from '../../write/metadata.js';
import { retryOnConflict } from '../../http/concurrency.js';
import { waitUntilCached } from '../../write/committer.js';
import { checkIfMatch } from '../../write/if-match.js';
import {
  buildEtagHeader,
  JSON_TYPE,
  rejectRequest,
  replyJson,
  replyJsonBytes,
  RequestRejection,
} from '../../http/reply.js';
import { toSpliceable } from '../../http/resource.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';
import { makeRoom } from './room.js';
import { findJobStatus, loadJob, readJobStatus, renderWrittenJob } from './view.js';

const COLLECTION = jobKind.path;
const ONE = `${COLLECTION}/${jobKind.item}`;

/** Jobs: work that runs to its end. A job is not changed: it is deleted, which stops it, and created again. */
export function createJobRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('deployer', 'POST', COLLECTION, call => createJob(env, call)),
    defineRoute('deployer', 'DELETE', ONE, call => deleteJob(env, call)),
    defineRoute('viewer', 'GET', `${ONE}/explain`, call => explainJob(env, call)),
  ];
}

type AdmittedJob = Extract<ReturnType<typeof admitJob>, { ok: true }>;

async function createJob(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const { isDryRun, tenant, document } = call;
  const submitted = readSubmitted(document);
  const judge = async () => {
    const gathered = await gatherFacts(env, tenant, submitted, call.span);
    return { gathered, admission: admitJob(document, gathered.facts, env.dryRunLimits, { isDryRun }) };
  };
  if (isDryRun) {
    const { gathered, admission } = await judge();
    return admission.ok ? dryRunJob(env, tenant, admission, gathered) : new RequestRejection(admission.rejections);
  }
  return env.mutex.run(listConflictKeys(tenant, submitted), () =>
    retryOnConflict('job', async () => {
      const { gathered, admission } = await judge();
      return admission.ok ? storeJob(env, call, admission, gathered) : new RequestRejection(admission.rejections);
    }),
  );
}

async function dryRunJob(
  env: AdmissionEnv,
  tenant: string,
  { spec, alterations, warnings, material }: AdmittedJob,
  { facts }: GatheredFacts,
): Promise<RouteResult> {
  const obstacle = await findObstacle(env, tenant, spec.name);
  if (obstacle) return obstacle;
  const workload = toJobWorkload(spec);
  const tried = {
    after: spec,
    alterations,
    warnings: [
      ...warnings,
      ...makeRoom(env, tenant, spec, '').warnings,
      ...warnAboveQuota(env, tenant, workload, countContainers(spec)),
      ...warnUnresolved(spec, material, facts.secretKeys),
    ],
  };
  return replyDryRun(tried, {
    recreated: [],
    secrets: dryRunSecrets(spec, material, facts.secretKeys),
    placement: previewWorkload(env, tenant, workload, workload.replicas),
  });
}

/** One with a schedule has no container itself: its runs wait for the quota, each when it is due. */
function countContainers({ schedule }: Job): number {
  return schedule === undefined ? 1 : 0;
}

/** Undefined when something that the document was judged by has changed since: it is judged again. */
async function storeJob(
  env: AdmissionEnv,
  call: ApiCall,
  { spec, alterations, warnings, material }: AdmittedJob,
  { facts, guards, conflictKeys }: GatheredFacts,
): Promise<RouteResult | undefined> {
  const { tenant, caller, requestId } = call;
  const now = new Date(env.clock.now()).toISOString();
  const uid = createTypedId('job', count => env.random.bytes(count));
  const times = { createdAt: now, updatedAt: now };
  const identity = { tenant, uid, generation: 1, ...times, specHash: hashSpec(spec) };
  const metadata: Metadata = { ...identity, ...toTraceMetadata(call.span), ...call.toNotes?.(spec) };
  const stored: StoredJob = { metadata, ...spec };
  const bytes = encode(stored);
  const key = keys.job(tenant, spec.name);
  const event = await env.events.put({
    type: 'job.created',
    tenant,
    subject: { kind: 'Job', name: spec.name, id: uid },
    reason: 'job_created',
    message: `job ${spec.name} was created by ${describeCaller(caller)}`,
    data: { by: caller.id },
  });
  const room = makeRoom(env, tenant, spec, now);
  const change = {
    guards: [
      { key, at: 0 },
      { key: keys.tenant(tenant), exists: true as const },
      ...guardNode(env.cache, tenant, spec.nodeId),
      ...room.guards,
      ...guards,
    ],
    puts: [
      { key, bytes },
      event,
      ...room.puts,
      ...(await putConflictKeys(env.conflictLeases, conflictKeys, requestId)),
    ],
    deletes: [],
    proof: event.key,
  };
  const remarks = [
    ...warnings,
    ...room.warnings,
    ...warnAboveQuota(env, tenant, toJobWorkload(spec), countContainers(spec)),
    ...warnUnresolved(spec, material, facts.secretKeys),
  ];
  const verdict = await commitWithMaterial(env, call, change, {
    subject: spec.name,
    writes: material,
    seen: facts.secretKeys,
  });
  if (verdict instanceof RequestRejection) return verdict;
  if (!verdict.stored) return findObstacle(env, tenant, spec.name);
  if (conflictKeys.length > 0) await waitUntilCached(env.cache, verdict.revision);
  const headers = { ...buildEtagHeader(verdict.revision), location: `${COLLECTION}/${spec.name}` };
  const body = renderWrittenJob({ bytes, revision: verdict.revision }, undefined, alterations, remarks);
  return { status: 201, body, type: JSON_TYPE, headers, alterations };
}

/** Why a new job cannot be stored although its document is valid. Undefined when nothing prevents it now. */
async function findObstacle(
  { cache }: AdmissionEnv,
  tenant: string,
  name: string,
): Promise<RequestRejection | undefined> {
  await cache.barrier();
  const existing = cache.get(keys.job(tenant, name));
  if (existing) {
    const isDeleting = value<StoredJob>(existing).metadata.deletedAt !== undefined;
    const received = isDeleting ? `${name}, which is being deleted` : name;
    return rejectRequest('resource_already_exists', 'name', received);
  }
  return cache.get(keys.tenant(tenant)) ? undefined : rejectRequest('resource_not_found', 'X-Tenant-ID', tenant);
}

/** Requests the deletion of a job. Its record stays, marked, until its container is gone; a repeat changes nothing. */
async function deleteJob(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const name = call.params['name']!;
  return retryOnConflict(name, async () => {
    const entry = await loadJob(env.cache, call.tenant, name);
    if (entry instanceof RequestRejection) return entry;
    const mismatch = checkIfMatch(call.request.headers['if-match'], undefined, entry);
    if (mismatch) return mismatch;
    const stored = value<StoredJob>(entry);
    if (call.isDryRun) return replyDryRun({ before: toJobSpec(stored) });
    const answer = (written: Pick<Entry, 'bytes' | 'revision'>) => {
      const body = renderWrittenJob(written, findJobStatus(env.cache, entry));
      return replyJsonBytes(200, body, buildEtagHeader(written.revision));
    };
    if (stored.metadata.deletedAt !== undefined) return answer(toSpliceable(entry));
    const deletedAt = new Date(env.clock.now()).toISOString();
    const bytes = encode(markDeleted(stored, deletedAt, toTraceMetadata(call.span)));
    const guards = [{ key: entry.key, at: entry.revision }];
    const verdict = await env.store.commit({ guards, puts: [{ key: entry.key, bytes }], deletes: [] });
    return verdict.stored ? answer({ bytes, revision: verdict.revision }) : undefined;
  });
}

/** Where the next attempt of a job may run, and why not elsewhere. */
async function explainJob({ cache, placementPolicy }: AdmissionEnv, { tenant, params }: ApiCall): Promise<RouteResult> {
  const entry = await loadJob(cache, tenant, params['name']!);
  if (entry instanceof RequestRejection) return entry;
  const job = value<StoredJob>(entry);
  const { phase, message, attempts } = readJobStatus(cache, entry);
  const policy = placementPolicy;
  // There is one attempt at a time: the next one takes the place of this one.
  const explained = explainDeployment(toJobWorkload(toJobSpec(job)), tenant, { cache, policy }, 'are replaced');
  const view = toExplanationView(explained);
  return replyJson(200, {
    job: job.name,
    uid: job.metadata.uid,
    revision: String(cache.revision),
    phase,
    message,
    attempts,
    steps: [],
    outlook: view.summary,
    ...view,
  });
}
