import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import type { CanaryOrder, CanaryRecord, RolloutRecord } from '../../crds/rollout/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { type Change, readValue, value } from '../../pkg/store/index.js';
import { listUnmetDependencies, type ObservedDeployment } from '../reading/index.js';
import { type CanaryDecision, decideCanary } from './canary.js';
import { judgeRollout, type RolloutJudgement } from './judge-rollout.js';
import { recordCanary, recordCanaryHealth, recordPromotion } from './record-canary.js';
import { recordComplete, recordFailure, recordRolloutProgress, type RolloutSubject } from './record-rollout.js';

/** What is recorded of the rollout of a deployment, with its guards. */
export function readRollout(
  { deployment, unchanged }: ObservedDeployment,
  cache: LoopEnv['cache'],
): RolloutSubject | undefined {
  if (!deployment) return undefined;
  const { tenant, uid } = deployment.metadata;
  const stored = cache.get(keys.rollout(tenant, deployment.name));
  const known = stored && value<RolloutRecord>(stored);
  const order = cache.get(keys.canaryOrder(tenant, deployment.name));
  return { deployment, unchanged, stored, record: known?.uid === uid ? known : undefined, order };
}

/**
 * Begins, ends, promotes or aborts the canary of a deployment, before anything is done with its replicas. Answers the canary that is
 * held; `recorded` when something was stored, which wakes the deployment again.
 */
export async function settleCanary(
  subject: RolloutSubject,
  { replicas }: ObservedDeployment,
  env: LoopEnv,
): Promise<CanaryRecord | 'recorded' | undefined> {
  const { deployment, record: known, order } = subject;
  const given = order && value<CanaryOrder>(order);
  const decision = decideCanary({ deployment, replicas, record: known, order: given, now: env.clock.now() });
  if (decision.kind === 'none') return undefined;
  if (decision.kind === 'held') return decision.canary;
  await record(await buildCanaryChange(decision, subject, env), env);
  const because = decision.kind === 'ordered' ? decision.action : decision.kind;
  env.log.info('canary changed', { tenant: deployment.metadata.tenant, deployment: deployment.name, because });
  return 'recorded';
}

function buildCanaryChange(
  decision: Exclude<CanaryDecision, { readonly kind: 'none' | 'held' }>,
  subject: RolloutSubject,
  env: LoopEnv,
) {
  switch (decision.kind) {
    case 'start':
    case 'end':
      return recordCanary(subject, decision, env);
    case 'ordered':
      return decision.action === 'promote'
        ? recordPromotion(subject, decision.by, env)
        : recordFailure(subject, describeOrder(subject.deployment, decision.by, env), env, decision.by);
    case 'discard': {
      const { key, revision } = subject.order!;
      return { guards: [{ key, at: revision }], puts: [], deletes: [key] };
    }
  }
}

function describeOrder({ metadata: { generation } }: StoredDeployment, by: string, { clock }: LoopEnv) {
  const message = `the canary of revision ${generation} was aborted by ${by}`;
  const at = new Date(clock.now()).toISOString();
  return { revision: generation, at, reason: 'canary_aborted', message } as const;
}

/** Records that a rollout is complete, has failed or has come further. Answers when its deadline is over, while it is neither. */
export async function advanceRollout(
  subject: RolloutSubject,
  { wanted, replicas }: ObservedDeployment,
  { canary, ...times }: Pick<RolloutJudgement, 'settleMs' | 'watchedSince' | 'canary'>,
  env: LoopEnv,
): Promise<number | undefined> {
  const { deployment, record: known } = subject;
  const { tenant, uid } = deployment.metadata;
  const now = env.clock.now();
  const scheduling = readValue<SchedulingReport>(env.cache, keys.scheduling(tenant, deployment.name));
  const held = isWaitingForOthers(deployment, env.cache);
  const refused = scheduling?.uid === uid ? scheduling.summary : undefined;
  const verdict = judgeRollout({
    deployment: wanted ?? deployment,
    replicas,
    record: known,
    canary,
    held,
    refused,
    now,
    ...times,
  });
  switch (verdict.kind) {
    case 'open':
      return verdict.inMs;
    case 'complete':
      await record(recordComplete(subject, now), env);
      return undefined;
    case 'canary':
      await record(recordCanaryHealth(subject, canary!, verdict), env);
      return undefined;
    case 'promoted':
      await record(await recordPromotion(subject, undefined, env), env);
      return undefined;
    case 'waits':
      await record(recordRolloutProgress(subject, undefined), env);
      return undefined;
    case 'progressed':
      await record(recordRolloutProgress(subject, verdict.progress), env);
      return verdict.inMs;
    case 'failed': {
      await record(await recordFailure(subject, verdict.failure, env), env);
      const { revision, reason: code } = verdict.failure;
      env.log.warn('rollout failed: "moor describe deployment" says why and what to do', {
        tenant,
        deployment: deployment.name,
        revision,
        code,
      });
      return undefined;
    }
  }
}

async function record(change: Change, { commit }: Pick<LoopEnv, 'commit'>): Promise<void> {
  failpoint('rollout.recording');
  await commit(change);
  failpoint('rollout.recorded');
}

/** A deployment that is being deleted waits for nothing. */
export function isWaitingForOthers(deployment: StoredDeployment | undefined, cache: LoopEnv['cache']): boolean {
  if (!deployment || deployment.metadata.deletedAt) return false;
  return listUnmetDependencies(deployment, cache).length > 0;
}
