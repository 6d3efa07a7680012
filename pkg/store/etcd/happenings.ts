import type { Happening, Revision } from '../store.js';

/** Events of a watch as happenings, one list for each revision, in order. Nothing below `from` is told again. */
export function byRevision(events: readonly Omit<Happening, 'position'>[], from: Revision): Happening[][] {
  const revisions: Happening[][] = [];
  let current: Happening[] = [];
  for (const { revision, key, entry } of events) {
    if (revision < from) continue;
    if (current[0]?.revision !== revision) {
      current = [];
      revisions.push(current);
    }
    current.push({ revision, position: current.length, key, entry });
  }
  return revisions;
}
