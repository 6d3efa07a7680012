import type { CanaryAction, CanaryOutcome, StoredDeployment } from '../../crds/deployment/index.js';
import { computeTemplateHash, isUpToDate } from '../../crds/replica/index.js';
import {
  type CanaryOrder,
  type CanaryRecord,
  type CompletedRollout,
  computeContentHash,
  findHeldCanary,
  type ReplicaForm,
  type RolloutRecord,
  toReplicaForm,
} from '../../crds/rollout/index.js';
import type { ObservedReplica } from '../reading/index.js';

export interface CanaryInput {
  readonly deployment: StoredDeployment;
  readonly replicas: readonly ObservedReplica[];
  /** The stored record, of this deployment. */
  readonly record: RolloutRecord | undefined;
  readonly order: CanaryOrder | undefined;
  readonly now: number;
}

/** What becomes of the canary of a deployment, before anything is done with its replicas. */
export type CanaryDecision =
  /** There is none: what is rolled out is rolled out in full. */
  | { readonly kind: 'none' }
  | { readonly kind: 'held'; readonly canary: CanaryRecord }
  /** It is to be recorded, and what came before it is over. One that is resumed brings along what was complete. */
  | {
      readonly kind: 'start';
      readonly canary: CanaryRecord;
      readonly ended?: CanaryOutcome;
      readonly completed?: CompletedRollout;
    }
  /** It is over because of a change of the deployment. */
  | { readonly kind: 'end'; readonly ended?: CanaryOutcome }
  | { readonly kind: 'ordered'; readonly action: CanaryAction; readonly by: string }
  /** The order is for another canary. */
  | { readonly kind: 'discard' };

/**
 * Whether a deployment has a canary. One begins when the content of its template is not the one that was complete last, and replicas of
 * an older template are there to compare with. A change of replicas, of the canary itself or of the version of secrets goes on with
 * it; another content begins another one, and the content that was complete last ends it. A deployment that is restored from a backup of
 * a canary begins with it.
 */
export function decideCanary({ deployment, replicas, record, order, now }: CanaryInput): CanaryDecision {
  const { metadata, rollout } = deployment;
  if (metadata.deletedAt) return { kind: 'none' };
  const { canary, completed } = record ?? {};
  const contentHash = computeContentHash(deployment);
  const templateHashNow = computeTemplateHash(deployment);
  const isBack = completed?.templateHash === templateHashNow || completed?.contentHash === contentHash;
  // Nothing is compared with itself.
  const isSelf = canary?.baseline.templateHash === templateHashNow;
  const held = isBack || isSelf ? undefined : findHeldCanary(deployment, record);
  const isMeant = order?.contentHash === contentHash && order.uid === metadata.uid;
  const begun = { revision: metadata.generation, contentHash, startedAt: new Date(now).toISOString() };
  if (held) {
    if (!order) return { kind: 'held', canary: held };
    if (!isMeant || order.action === 'resume') return { kind: 'discard' };
    return { kind: 'ordered', action: order.action, by: order.by };
  }
  if (isMeant && order.beside && !record && rollout?.canary) {
    const { baseline, completed: before } = order.beside;
    return { kind: 'start', canary: { ...begun, baseline }, completed: before };
  }
  const ended = canary && canary.promotedAt === undefined ? describeEnd(canary, deployment, now) : undefined;
  const isPromoted = canary?.promotedAt !== undefined && canary.contentHash === contentHash && !isBack;
  const old = replicas.filter(
    ({ replica }) => replica.deploymentUid === metadata.uid && !isUpToDate(replica, deployment),
  );
  const isDue = completed && !isBack && !isPromoted && rollout?.canary && rollout.paused !== true;
  if (isDue && old.length > 0 && deployment.replicas > 0) {
    const baseline = chooseBaseline(old, completed.templateHash, canary?.baseline);
    return { kind: 'start', canary: { ...begun, baseline }, ...(ended && { ended }) };
  }
  if (canary && !isPromoted) return { kind: 'end', ...(ended && { ended }) };
  return { kind: order ? 'discard' : 'none' };
}

/** What old replicas are made from: the template that was complete, where one of them served for it or an earlier canary knew it. */
function chooseBaseline(old: readonly ObservedReplica[], completed: string, known?: ReplicaForm): ReplicaForm {
  const forms = old.map(({ replica }) => toReplicaForm(replica, completed));
  const complete = forms.find(({ templateHash }) => templateHash === completed);
  return complete ?? (known?.templateHash === completed ? known : forms[0]!);
}

/** A canary ends with a change of the deployment: in full when it is not asked for any more, in vain when something else is. */
function describeEnd(
  { revision, contentHash }: CanaryRecord,
  deployment: StoredDeployment,
  now: number,
): CanaryOutcome {
  const at = new Date(now).toISOString();
  const { generation } = deployment.metadata;
  if (contentHash === computeContentHash(deployment)) {
    const message = `rollout.canary was removed with revision ${generation}: the rest follows`;
    return { revision, outcome: 'promoted', at, message };
  }
  return { revision, outcome: 'aborted', at, message: `revision ${generation} takes its place` };
}
