import type { KeyChange, TailFrame, Violation } from './records.js';
import { StoredState } from './stored-state.js';

/**
 * Compares one tail with what etcd stored: it begins with a complete state, and then is told every revision once, whole
 * and in order. A new complete state is allowed at any time, but never one that is older than what was told before.
 */
export function checkTail(frames: readonly TailFrame[], storedEvents: readonly KeyChange[]): Violation[] {
  const stored = new StoredState(storedEvents);
  const revisions = stored.revisions;
  const violations: Violation[] = [];
  const report = (frame: TailFrame, because: string) =>
    violations.push({ promise: 'tail', because: `the tail of ${frame.process} ${because}` });
  let last: number | undefined;
  let place = 0;

  for (const frame of frames) {
    const { revision } = frame;
    if (last !== undefined && revision < last) {
      const how = frame.kind === 'reset' ? 'was reset to' : 'was told';
      report(frame, `${how} revision ${revision} after ${last}`);
      continue;
    }
    if (frame.kind === 'reset') {
      for (const because of differences(frame.entries, stored, revision)) report(frame, because);
      last = revision;
      continue;
    }
    if (last === undefined) {
      report(frame, `was told revision ${revision} before any complete state`);
      last = revision;
      continue;
    }
    if (revision === last) {
      report(frame, `was told revision ${revision} twice`);
      continue;
    }
    while (place < revisions.length && revisions[place]! <= last) place++;
    if (revisions[place] !== revision)
      report(frame, `was told revision ${revision} and not ${revisions[place] ?? 'nothing'} after ${last}`);
    const wanted = stored.at(revision).map(({ key, bytes }) => `${key} ${bytes !== undefined}`);
    const told = frame.changes.map(([key, exists]) => `${key} ${exists}`);
    if (wanted.join() !== told.join())
      report(frame, `was told ${told.join()} of revision ${revision}, which is ${wanted.join()}`);
    last = revision;
  }
  return violations;
}

/** Where a complete state differs from what was stored at its revision. */
function differences(entries: readonly (readonly [string, number])[], stored: StoredState, revision: number): string[] {
  const told = new Map(entries);
  const wrong: string[] = [];
  for (const key of stored.keys) {
    const event = stored.latest(key, revision);
    const wanted = event?.bytes === undefined ? undefined : event.revision;
    if (told.get(key) !== wanted)
      wrong.push(
        `was reset at revision ${revision} with ${key} at ${told.get(key) ?? 'nothing'} instead of ${wanted ?? 'nothing'}`,
      );
    told.delete(key);
  }
  for (const key of told.keys()) wrong.push(`was reset at revision ${revision} with ${key}, which was never stored`);
  return wrong;
}
