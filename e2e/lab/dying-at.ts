import type { FailpointName } from '../../pkg/failpoint/index.js';
import type { Child } from './child.js';

const PASSED_WITHIN_MS = 120_000;

/** A process that is to die, where, and what is looked at while it is dead. */
export interface CrashPlan {
  readonly part: Child;
  readonly at: readonly FailpointName[];
  readonly whileDead?: () => Promise<void>;
}

/**
 * Has a process die at one point after the other while `work` is done, and starts it again each time: armed for the next
 * point, and at last unarmed. A point that is not passed is a failure.
 */
export async function dieAt({ part, at, whileDead }: CrashPlan, work: () => Promise<void>): Promise<void> {
  const armed = at.map(point => `${point}=kill`);
  await part.restart('SIGKILL', armed[0]);
  const deaths = async () => {
    for (const [position, point] of at.entries()) {
      await part.died(point, PASSED_WITHIN_MS);
      await whileDead?.();
      part.start(armed[position + 1]);
    }
  };
  await Promise.all([work(), deaths()]);
}

/** Has several processes die while the same work is done. */
export function dieTogether(deaths: readonly CrashPlan[], work: () => Promise<void>): Promise<void> {
  const [first, ...rest] = deaths;
  return first ? dieAt(first, () => dieTogether(rest, work)) : work();
}
