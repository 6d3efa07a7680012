import type { Condition } from '../../crds/meta/index.js';
import { isComplete, type Standing } from './standing.js';

/** A condition before it is stamped. */
type Draft = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

export interface Stamp {
  readonly previous: readonly Condition[];
  readonly generation: number;
  readonly now: string;
}

/** Reason of the condition `Progressing` while replicas of an older template are replaced. */
export const ROLLING_OUT = 'RollingOut';

/** The conditions of a standing. A condition keeps the time of its last change while its status stays the same. */
export function conditionsOf(standing: Standing, { previous, generation, now }: Stamp): readonly Condition[] {
  const before = new Map(previous.map(condition => [condition.type, condition]));
  const drafts = [placedOf(standing), availableOf(standing), progressingOf(standing, before.get('Progressing'))];
  return drafts.map(draft => {
    const standingSince = before.get(draft.type);
    const lastTransitionTime = standingSince?.status === draft.status ? standingSince.lastTransitionTime : now;
    return { ...draft, lastTransitionTime, observedGeneration: generation };
  });
}

function placedOf({ refused, placed, wanted }: Standing): Draft {
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
function availableOf({ serving, wanted, rolling }: Standing): Draft {
  const message = `${serving} of ${wanted} replicas ready`;
  const needed = rolling ? Math.max(1, wanted - 1) : wanted;
  if (wanted === 0) return { type: 'Available', status: 'True', reason: 'NoneAskedFor', message };
  if (serving >= needed) return { type: 'Available', status: 'True', reason: 'EnoughReady', message };
  return { type: 'Available', status: 'False', reason: 'TooFewReady', message };
}

function progressingOf(standing: Standing, before: Condition | undefined): Draft {
  if (isComplete(standing)) {
    return { type: 'Progressing', status: 'False', reason: 'Complete', message: 'everything is as asked' };
  }
  // The last new replica of a roll-out starts when no old one is left: it is part of the roll-out all the same.
  const stillRolling = before?.status === 'True' && before.reason === ROLLING_OUT;
  const reason = standing.rolling || stillRolling ? ROLLING_OUT : 'Adjusting';
  const message = `${standing.updated.length} of ${standing.wanted} replicas are up to date`;
  return { type: 'Progressing', status: 'True', reason, message };
}
