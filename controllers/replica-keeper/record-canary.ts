import { type CanaryOutcome, getCanarySize, type StoredDeployment } from '../../crds/deployment/index.js';
import type { CanaryRecord, CompletedRollout } from '../../crds/rollout/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { withWantedReplicas } from '../../pkg/fleet/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import type { Change } from '../../pkg/store/index.js';
import { draftOutcome, type RolloutSubject, storeRecord, toSubject } from './record-rollout.js';

interface RecordedCanary {
  readonly canary?: CanaryRecord;
  readonly ended?: CanaryOutcome | undefined;
  /** What is known to have been complete before anything ran here. */
  readonly completed?: CompletedRollout;
}

/** Records a canary that begins, with its event, or that one is over, or both. */
export async function recordCanary(
  subject: RolloutSubject,
  { canary, ended, completed }: RecordedCanary,
  env: LoopEnv,
): Promise<Change> {
  const { deployment, record: known } = subject;
  const about = toSubject(deployment);
  const { canary: _, progress: __, ...rest } = known ?? { uid: deployment.metadata.uid };
  const puts = [
    ...(ended ? [await env.events.put(draftOutcome(about, ended, 'canary_superseded'))] : []),
    ...(canary ? [await env.events.put(draftStart(withWantedReplicas(deployment, env.cache), canary))] : []),
  ];
  const now = { ...(completed && { completed }), ...(canary && { canary }), ...(ended && { lastCanary: ended }) };
  return storeRecord(subject, { ...rest, ...now }, puts);
}

/** Records since when the canary has been healthy, or that it is not. The deadline of its rollout starts again. */
export function recordCanaryHealth(
  subject: RolloutSubject,
  canary: CanaryRecord,
  { healthy, isRecovering }: Pick<CanaryRecord, 'healthy' | 'isRecovering'>,
): Change {
  const { progress: _, ...known } = subject.record!;
  const { healthy: __, isRecovering: ___, ...rest } = canary;
  const now = { ...(healthy && { healthy }), ...(isRecovering && { isRecovering }) };
  return storeRecord(subject, { ...known, canary: { ...rest, ...now } });
}

/** Records that the rest of the replicas follows, with the event. */
export async function recordPromotion(subject: RolloutSubject, by: string | undefined, env: LoopEnv): Promise<Change> {
  const { deployment } = subject;
  const { progress: _, canary, failed, ...known } = subject.record!;
  const { generation } = deployment.metadata;
  const at = new Date(env.clock.now()).toISOString();
  const { hold } = deployment.rollout?.canary ?? {};
  const message =
    by === undefined
      ? `the canary of revision ${generation} was healthy for ${hold}: the rest follows`
      : `the canary of revision ${generation} was promoted by ${by}: the rest follows`;
  const lastCanary: CanaryOutcome = { revision: generation, outcome: 'promoted', at, message };
  const event = await env.events.put(draftOutcome(toSubject(deployment), lastCanary, 'canary_promoted'));
  const next = { ...known, canary: { ...canary!, promotedAt: at }, lastCanary };
  return storeRecord(subject, { ...next, ...(failed && failed.revision !== generation && { failed }) }, [event]);
}

function draftStart(deployment: StoredDeployment, { revision, contentHash }: CanaryRecord): EventDraft {
  const { next, old } = getCanarySize(deployment);
  const { hold } = deployment.rollout?.canary ?? {};
  const until = hold === undefined ? 'until it is promoted or aborted' : `until it was healthy for ${hold}`;
  return {
    ...toSubject(deployment),
    type: 'deployment.canary_started',
    reason: 'canary_started',
    message: `revision ${revision} runs on ${next} of ${next + old} replicas ${until}`,
    data: { generation: revision, replicas: next, others: old, contentHash },
  };
}
