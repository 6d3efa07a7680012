import {
  admitScaling,
  boundReplicas,
  getRequest,
  getWantedReplicas,
  scaledResources,
  type ScalingPolicy,
  type StoredDeployment,
  type StoredScalingPolicy,
  toScalingPolicy,
} from '../../../crds/deployment/index.js';
import { formatCount } from '../../../crds/grammar/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import type { Alteration, Warning } from '../../../crds/rule/index.js';
import type { EventDraft } from '../../../pkg/events/index.js';
import { failpoint } from '../../../pkg/failpoint/index.js';
import { readScaling } from '../../../pkg/fleet/index.js';
import { type Entry, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { warnAboveQuota } from '../../admission/quota.js';
import { describeBase, findPolicy, type KnownPolicy, putPolicy } from '../../admission/scaling.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { checkIfMatch } from '../../write/if-match.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, describeCaller, type RouteResult } from '../../http/route.js';
import { sumUsage } from './usage.js';
import { loadDeployment } from './view.js';

/** A deployment with its policy, as they are stored now. */
interface Subject extends KnownPolicy {
  readonly deployment: StoredDeployment;
  readonly entryOfDeployment: Entry;
}

async function load({ cache }: AdmissionEnv, { tenant, params }: ApiCall): Promise<Subject | RequestRejection> {
  const entryOfDeployment = await loadDeployment(cache, tenant, params['name']!);
  if (entryOfDeployment instanceof RequestRejection) return entryOfDeployment;
  const deployment = value<StoredDeployment>(entryOfDeployment);
  return { deployment, entryOfDeployment, ...findPolicy(cache, deployment) };
}

/** Shows the policy, what was decided by it last, and what the replicas use now. */
export async function showScaling(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const subject = await load(env, call);
  if (subject instanceof RequestRejection) return subject;
  const { deployment, entry, stored } = subject;
  if (!entry || !stored) return rejectRequest('scaling_policy_not_found', 'name', deployment.name);
  return replyJson(200, toView(env, deployment, stored, entry.revision), buildEtagHeader(entry.revision));
}

function toView(env: AdmissionEnv, deployment: StoredDeployment, stored: StoredScalingPolicy, revision: number) {
  const { name, metadata, replicas } = deployment;
  const { record } = readScaling(env.cache, { tenant: metadata.tenant, name });
  const isCurrent = record?.uid === metadata.uid && record.base === replicas;
  const { uid: _, base: __, replicas: ___, ...decided } = isCurrent ? record : { uid: '', base: 0, replicas: 0 };
  return {
    metadata: { revision: String(revision), ...stored.metadata },
    deployment: name,
    ...toScalingPolicy(stored),
    status: { replicas: getWantedReplicas(deployment, stored, record), base: replicas, ...decided },
    current: toPercentages(env, deployment),
  };
}

/** What the replicas use now, in percent of what they request. */
function toPercentages(env: AdmissionEnv, deployment: StoredDeployment) {
  const { measured, ...used } = sumUsage(env, deployment);
  const percentages = scaledResources.flatMap(resource => {
    const request = getRequest(deployment, resource);
    const isKnown = request !== undefined && measured > 0;
    return isKnown ? [[`${resource}Percent`, Math.round((used[resource] / (request * measured)) * 100)]] : [];
  });
  return { measuredReplicas: measured, ...(Object.fromEntries(percentages) as Record<string, number>) };
}

/** Stores a policy. The same one again changes nothing and gets the same answer. */
export async function putScaling(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  return retryOnConflict(call.params['name']!, async () => {
    const subject = await load(env, call);
    if (subject instanceof RequestRejection) return subject;
    const { deployment, stored, entry } = subject;
    const admission = admitScaling(call.document, deployment, env.deploymentLimits);
    if (!admission.ok) return new RequestRejection(admission.rejections);
    const mismatch = checkPolicyMatch(call, subject);
    if (mismatch) return mismatch;
    if (deployment.metadata.deletedAt !== undefined) {
      return rejectRequest('deployment_being_deleted', 'name', deployment.name);
    }
    const { spec: policy, alterations } = admission;
    const warnings = warnPolicy(env, deployment, policy);
    const before = stored && toScalingPolicy(stored);
    if (call.isDryRun) return replyDryRun({ ...(before && { before }), after: policy, alterations, warnings });
    if (entry && stored?.metadata.specHash === hashSpec(policy)) {
      return answer(env, subject, entry.revision, { status: 200, alterations, warnings });
    }
    const { tenant, uid } = deployment.metadata;
    const put = putPolicy(env, { tenant, name: deployment.name, uid }, policy, stored);
    const event = await env.events.put(draftEvent(call, deployment, 'scaling_policy_set', policy));
    const { entryOfDeployment } = subject;
    failpoint('policy.storing');
    const write = env.store.commit({
      guards: [
        { key: put.key, at: entry?.revision ?? 0 },
        { key: entryOfDeployment.key, at: entryOfDeployment.revision },
      ],
      puts: [put, event],
      deletes: [],
    });
    if (!(await waitUntilStored(env.cache, write))) return undefined;
    failpoint('policy.stored');
    const revision = env.cache.get(put.key)?.revision ?? 0;
    const now = { ...subject, stored: JSON.parse(put.bytes.toString()) as StoredScalingPolicy };
    return answer(env, now, revision, { status: stored ? 200 : 201, alterations, warnings });
  });
}

function answer(
  env: AdmissionEnv,
  { deployment, stored }: Subject,
  revision: number,
  { status, ...remarks }: { status: number; alterations: readonly Alteration[]; warnings: readonly Warning[] },
): RouteResult {
  const view = { ...toView(env, deployment, stored!, revision), ...remarks };
  return { ...replyJson(status, view, buildEtagHeader(revision)), alterations: remarks.alterations };
}

/** A client that names a revision has seen a policy. */
function checkPolicyMatch({ request }: ApiCall, { entry, stored }: Subject): RequestRejection | undefined {
  const header = request.headers['if-match'];
  if (entry && stored) return checkIfMatch(header, undefined, entry);
  return header === undefined ? undefined : rejectRequest('revision_mismatch', 'If-Match', header, { current: 'none' });
}

/** What the policy does at once, and what it may not be able to do. */
function warnPolicy(env: AdmissionEnv, deployment: StoredDeployment, policy: ScalingPolicy): readonly Warning[] {
  const { metadata, replicas } = deployment;
  const isOutside = replicas > 0 && boundReplicas(replicas, policy) !== replicas;
  const most = { ...deployment, replicas: Math.max(replicas, policy.maxReplicas) };
  const quota = warnAboveQuota(env, metadata.tenant, most, most.replicas);
  return [
    ...(isOutside ? [{ ...describeBase(replicas, policy), field: 'minReplicas' }] : []),
    ...quota.map(warning => (warning.field === 'replicas' ? { ...warning, field: 'maxReplicas' } : warning)),
  ];
}

/** Takes the policy away: the deployment goes back to the replicas of its spec. */
export async function deleteScaling(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  return retryOnConflict(call.params['name']!, async () => {
    const subject = await load(env, call);
    if (subject instanceof RequestRejection) return subject;
    const { deployment, entry, stored } = subject;
    if (!entry || !stored) return rejectRequest('scaling_policy_not_found', 'name', deployment.name);
    const mismatch = checkPolicyMatch(call, subject);
    if (mismatch) return mismatch;
    const policy = toScalingPolicy(stored);
    const warnings = warnEnd(env, deployment, stored);
    if (call.isDryRun) return replyDryRun({ before: policy, warnings });
    const event = await env.events.put(draftEvent(call, deployment, 'scaling_policy_removed'));
    const guards = [{ key: entry.key, at: entry.revision }];
    failpoint('policy.removing');
    const write = env.store.commit({ guards, puts: [event], deletes: [entry.key] });
    if (!(await waitUntilStored(env.cache, write))) return undefined;
    failpoint('policy.removed');
    return replyJson(200, { deployment: deployment.name, ...policy, alterations: [], warnings });
  });
}

function warnEnd(
  { cache }: AdmissionEnv,
  deployment: StoredDeployment,
  stored: StoredScalingPolicy,
): readonly Warning[] {
  const { metadata, name, replicas } = deployment;
  const { record } = readScaling(cache, { tenant: metadata.tenant, name });
  const wanted = getWantedReplicas(deployment, stored, record);
  if (wanted === replicas) return [];
  const message = `the deployment goes back from ${wanted} to the ${formatCount(replicas, 'replica')} of its spec`;
  return [{ code: 'scaling_ended', field: 'replicas', message }];
}

function draftEvent(
  { caller, tenant }: ApiCall,
  { name, metadata }: StoredDeployment,
  reason: 'scaling_policy_set' | 'scaling_policy_removed',
  policy?: ScalingPolicy,
): EventDraft {
  const done = policy
    ? `is scaled between ${policy.minReplicas} and ${formatCount(policy.maxReplicas, 'replica')} from now on`
    : 'is not scaled any more';
  return {
    type: 'deployment.updated',
    tenant,
    subject: { kind: 'Deployment', name, id: metadata.uid },
    reason,
    message: `deployment ${name} ${done}, by ${describeCaller(caller)}`,
    data: { by: caller.id, ...(policy && { policy }) },
  };
}
