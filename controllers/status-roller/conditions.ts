import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { Condition } from '../../crds/meta/index.js';
import { describeUnmet, isComplete, type ReplicaSummary } from './summary.js';

/** A condition without its time and generation. */
type Draft = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

export interface ConditionContext {
  readonly previous: readonly Condition[];
  readonly generation: number;
  readonly now: string;
  /** Whether residency is enforced. */
  readonly enforced: boolean;
}

/** Reason of the condition `Progressing` while replicas of an older template are replaced. */
export const ROLLING_OUT = 'RollingOut';

/** Reason of the condition `ResidencySatisfied` while a replica is on a node that breaks the residency. */
export const VIOLATED = 'Violated';

/**
 * The conditions of a deployment. A condition keeps the time of its last change while its status stays the same. Those about
 * secrets, residency and dependencies are there only where the deployment asks for them.
 */
export function buildConditions(
  { placement, dependsOn = [], secrets = [] }: StoredDeployment,
  summary: ReplicaSummary,
  { previous, generation, now, enforced }: ConditionContext,
): readonly Condition[] {
  const before = new Map(previous.map(condition => [condition.type, condition]));
  const drafts = [
    placedOf(summary),
    availableOf(summary),
    progressingOf(summary, before.get('Progressing')),
    ...(secrets.length > 0 ? [secretsOf(summary)] : []),
    ...(placement?.residency ? [residencyOf(summary, enforced)] : []),
    ...(dependsOn.length > 0 ? [dependenciesOf(summary)] : []),
  ];
  return drafts.map(draft => {
    const standingSince = before.get(draft.type);
    const lastTransitionTime = standingSince?.status === draft.status ? standingSince.lastTransitionTime : now;
    return { ...draft, lastTransitionTime, observedGeneration: generation };
  });
}

function placedOf({ refused, placed, wanted }: ReplicaSummary): Draft {
  if (refused) return { type: 'Placed', status: 'False', reason: 'Unschedulable', message: refused.summary };
  if (placed < wanted) {
    return {
      type: 'Placed',
      status: 'False',
      reason: 'Waiting',
      message: `${placed} of ${wanted} replicas have a node`,
    };
  }
  return { type: 'Placed', status: 'True', reason: 'AllPlaced', message: 'every replica has a node' };
}

/** Availability is about what serves now, of whatever template: a roll-out that goes well never loses it. */
function availableOf({ serving, wanted, rolling }: ReplicaSummary): Draft {
  const message = `${serving} of ${wanted} replicas ready`;
  const needed = rolling ? Math.max(1, wanted - 1) : wanted;
  if (wanted === 0) return { type: 'Available', status: 'True', reason: 'NoneAskedFor', message };
  if (serving >= needed) return { type: 'Available', status: 'True', reason: 'EnoughReady', message };
  return { type: 'Available', status: 'False', reason: 'TooFewReady', message };
}

function progressingOf(summary: ReplicaSummary, before: Condition | undefined): Draft {
  if (isComplete(summary)) {
    return {
      type: 'Progressing',
      status: 'False',
      reason: 'Complete',
      message: 'every replica is up to date and ready',
    };
  }
  // The last new replica of a roll-out starts when no old one is left: it is part of the roll-out all the same.
  const stillRolling = before?.status === 'True' && before.reason === ROLLING_OUT;
  const reason = summary.rolling || stillRolling ? ROLLING_OUT : 'Adjusting';
  const message = `${summary.updated.length} of ${summary.wanted} replicas are up to date`;
  return { type: 'Progressing', status: 'True', reason, message };
}

/** The reason is the one that the secret resolver has stored. Until it has looked the secrets up, the status is Unknown. */
function secretsOf({ unresolved, unstamped }: ReplicaSummary): Draft {
  const type = 'SecretsResolved';
  if (unresolved) return { type, status: 'False', reason: unresolved.reason, message: unresolved.message };
  if (unstamped > 0) {
    return {
      type,
      status: 'Unknown',
      reason: 'NotLookedUp',
      message: `the secrets of ${unstamped === 1 ? '1 replica' : `${unstamped} replicas`} were not looked up yet`,
    };
  }
  return { type, status: 'True', reason: 'AllResolved', message: 'every secret that it refers to was found' };
}

function residencyOf({ misplaced, refused }: ReplicaSummary, enforced: boolean): Draft {
  const type = 'ResidencySatisfied';
  if (!enforced) {
    return {
      type,
      status: 'Unknown',
      reason: 'EnforcementOff',
      message: 'this control plane does not enforce residency: set residencyEnforcement',
    };
  }
  if (misplaced.length > 0) {
    const slots = misplaced.map(({ replica }) => replica.slot).join(', ');
    const violators =
      misplaced.length === 1 ? `replica ${slots} is on a node` : `each of replicas ${slots} is on a node`;
    return { type, status: 'False', reason: VIOLATED, message: `${violators} that breaks the residency` };
  }
  if (refused?.residencyUnmet) return { type, status: 'False', reason: 'NoMatchingNode', message: refused.summary };
  return {
    type,
    status: 'True',
    reason: 'Satisfied',
    message: 'every replica is on a node that satisfies the residency',
  };
}

function dependenciesOf({ unmet }: ReplicaSummary): Draft {
  const type = 'DependenciesHealthy';
  if (unmet.length > 0) return { type, status: 'False', reason: 'Unmet', message: describeUnmet(unmet) };
  return { type, status: 'True', reason: 'Met', message: 'every dependency is met' };
}
