import type { SeenReplica } from '../reading/index.js';

/** The next small step for one slot. */
export type SlotStep =
  /** Put a new replica into an empty slot. */
  | { readonly kind: 'fill'; readonly slot: number }
  /** Have the container of this replica stopped and removed. */
  | { readonly kind: 'retire'; readonly seen: SeenReplica; readonly because: string }
  /** Forget a replica that has no container, or none that counts, and leave its slot empty. */
  | { readonly kind: 'clear'; readonly seen: SeenReplica };

/** The slots below `end` that nothing is in, the lowest first. */
export function emptySlots(end: number, taken: ReadonlySet<number>): readonly number[] {
  return Array.from({ length: end }, (_, slot) => slot).filter(slot => !taken.has(slot));
}
