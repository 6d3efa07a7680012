import type { KeyChange, Violation } from './records.js';
import { StoredState } from './stored-state.js';

export interface FencingOptions {
  /** The key of the leader. */
  readonly leaderKey: string;
  /** The fence that a change was made under; undefined for changes that need none. */
  readonly fenceOf: (event: KeyChange) => number | undefined;
}

/** Whether each change that was made under a fence was made while that very leader's key existed. */
export function checkFencing(storedEvents: readonly KeyChange[], { leaderKey, fenceOf }: FencingOptions): Violation[] {
  const stored = new StoredState(storedEvents);
  return storedEvents.flatMap((event): Violation[] => {
    const fence = fenceOf(event);
    if (fence === undefined) return [];
    const leader = stored.latest(leaderKey, event.revision - 1);
    if (leader?.bytes !== undefined && leader.created === fence) return [];
    const now = leader?.bytes === undefined ? 'nobody' : `the leader of ${leader.created}`;
    const because = `${event.key} was changed at revision ${event.revision} by the leader of ${fence} while ${now} led`;
    return [{ promise: 'fenced', because }];
  });
}
