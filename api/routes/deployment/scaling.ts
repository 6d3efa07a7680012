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
import type { Admitted, Warning } from '../../../crds/rule/index.js';
import type { EventDraft } from '../../../pkg/events/index.js';
import { readScaling } from '../../../pkg/fleet/index.js';
import { type Cache, type Entry, value } from '../../../pkg/store/index.js';
import type { AdmissionEnv, QuotaEnv } from '../../admission/env.js';
import { warnAboveQuota } from '../../admission/quota.js';
import { describeBase, findPolicy, type KnownPolicy, putPolicy } from '../../admission/scaling.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, describeCaller, type RouteResult } from '../../http/route.js';
import type { CachedEnv, Writing } from '../../write/write.js';
import { sumUsage } from './usage.js';
import { findDeployment } from './view.js';

/** A deployment with its policy, as they are stored now. */
interface Subject extends KnownPolicy {
  readonly deployment: StoredDeployment;
  readonly entryOfDeployment: Entry;
}

function find({ cache }: Pick<AdmissionEnv, 'cache'>, { tenant, params }: ApiCall): Subject | RequestRejection {
  const entryOfDeployment = findDeployment(cache, tenant, params['name']!);
  if (entryOfDeployment instanceof RequestRejection) return entryOfDeployment;
  const deployment = value<StoredDeployment>(entryOfDeployment);
  return { deployment, entryOfDeployment, ...findPolicy(cache, deployment) };
}

/** Shows the policy, what was decided by it last, and what the replicas use now. */
export async function showScaling(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  await env.cache.barrier();
  const subject = find(env, call);
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
export const policyChange: Writing<AdmissionEnv, Subject, Admitted<ScalingPolicy>> = {
  name: 'scaling policy',
  points: ['policy.storing', 'policy.stored'],
  find: (env, call) => {
    const subject = find(env, call);
    return subject instanceof RequestRejection ? subject : subject.stored && subject.entry;
  },
  facts: find,
  judge: ({ call, facts: { deployment } }, env) => {
    const admission = admitScaling(call.document, deployment, env.deploymentLimits);
    if (!admission.ok) return new RequestRejection(admission.rejections);
    const { metadata, name } = deployment;
    return metadata.deletedAt === undefined ? admission : rejectRequest('deployment_being_deleted', 'name', name);
  },
  plan: ({ call, now, facts }, { spec: policy, alterations }, env) => {
    const { deployment, stored, entry, entryOfDeployment } = facts;
    const { tenant, uid } = deployment.metadata;
    const before = stored && toScalingPolicy(stored);
    const tried = { before, after: policy, alterations, warnings: warnPolicy(env, deployment, policy) };
    if (stored?.metadata.specHash === hashSpec(policy)) return tried;
    return {
      ...tried,
      record: putPolicy({ tenant, name: deployment.name, uid, now }, policy, stored),
      over: entry,
      guards: [{ key: entryOfDeployment.key, at: entryOfDeployment.revision }],
      events: [draftEvent(call, deployment, 'scaling_policy_set', policy)],
      ...(!stored && { location: `/api/v1/deployments/${deployment.name}/scaling` }),
    };
  },
  show: (env, written, { facts }) =>
    toView(env, facts.deployment, value<StoredScalingPolicy>(written), written.revision),
};

/** What the policy does at once, and what it may not be able to do. */
function warnPolicy(env: CachedEnv<QuotaEnv>, deployment: StoredDeployment, policy: ScalingPolicy): readonly Warning[] {
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
export const policyRemoval: Writing<AdmissionEnv, Subject, StoredScalingPolicy> = {
  name: 'scaling policy',
  points: ['policy.removing', 'policy.removed'],
  find: (env, call) => {
    const subject = find(env, call);
    if (subject instanceof RequestRejection) return subject;
    const { stored, entry, deployment } = subject;
    return stored ? entry : rejectRequest('scaling_policy_not_found', 'name', deployment.name);
  },
  facts: find,
  judge: ({ facts }) => facts.stored!,
  plan: ({ call, stored, facts: { deployment } }, policy, { cache }) => ({
    deletes: [stored!.key],
    events: [draftEvent(call, deployment, 'scaling_policy_removed')],
    before: toScalingPolicy(policy),
    warnings: warnEnd(cache, deployment, policy),
  }),
  show: (_env, _written, { facts }, policy) => ({ deployment: facts.deployment.name, ...toScalingPolicy(policy) }),
};

function warnEnd(cache: Cache, deployment: StoredDeployment, stored: StoredScalingPolicy): readonly Warning[] {
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
