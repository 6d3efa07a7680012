import { BrokenInvariantFault } from '../fault/index.js';
import { rejectSecretMaterial } from './persist-guard.js';
import type { Entry } from './entry.js';
import type { Change, Guard, Put } from './store.js';

/** Whether a guard holds for what stands under its key. */
export function isGuardMet(guard: Guard, entry: Entry | undefined): boolean {
  if ('at' in guard) return (entry?.revision ?? 0) === guard.at;
  if ('created' in guard) return entry?.created === guard.created;
  return entry !== undefined;
}

/** Every key that a change writes or deletes. */
export function listWrittenKeys(change: Change): string[] {
  return [...change.puts.map(put => put.key), ...change.deletes];
}

/** The put whose bytes prove that the change was made; undefined when it only deletes. */
export function findProof(change: Change): Put | undefined {
  return change.proof === undefined ? change.puts[0] : change.puts.find(put => put.key === change.proof);
}

/**
 * The guard that the change itself makes false for ever, so that it cannot be applied twice: the revision of a
 * key it puts, or the revision or identity of a key it deletes. That a key `exists` is not enough: it may be
 * made again, and then a late copy of the change would strike the new one.
 */
export function findOnceGuard(change: Change): Guard | undefined {
  return change.guards.find(guard => {
    if (change.puts.some(({ key }) => key === guard.key)) return 'at' in guard;
    if (!change.deletes.includes(guard.key)) return false;
    return 'at' in guard ? guard.at > 0 : 'created' in guard;
  });
}

/** Throws unless the change is one that a store can make exactly once, and one that holds no secret material. */
export function checkChange(change: Change): void {
  const written = listWrittenKeys(change);
  if (written.length === 0) throw new BrokenInvariantFault('a change writes nothing');
  if (written.length > 1 && new Set(written).size !== written.length)
    throw new BrokenInvariantFault('a change writes one key twice');
  if (!findOnceGuard(change)) {
    throw new BrokenInvariantFault(
      `nothing keeps a change to ${written[0]} from being applied twice: guard the revision of a key that it writes`,
    );
  }
  if (change.proof !== undefined && !findProof(change)) {
    throw new BrokenInvariantFault(`the proof ${change.proof} is not among the puts of its change`);
  }
  rejectSecretMaterial(change.puts);
}
