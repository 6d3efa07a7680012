import { isServing, type SeenReplica } from '../reading/index.js';
import { emptySlots, type SlotStep } from './slot-step.js';

/**
 * Moves one replica at a time off nodes that are to be emptied.
 *
 * A replacement comes first, in the lowest empty slot: a slot holds one replica, so it cannot be the same one. When as many
 * serve without the one that leaves as are asked for, it goes. What does not serve goes at once, as soon as there is
 * another place. Where there is none, the replica stays where it is: a drain takes nothing away that cannot be had
 * elsewhere.
 *
 * `staying` are all replicas of the deployment, `leavers` those of them that are to move, `spare` how many more than those
 * that wait nodes would take.
 */
export function moveOff(
  leavers: readonly SeenReplica[],
  staying: readonly SeenReplica[],
  asked: number,
  spare: number,
): readonly SlotStep[] {
  const next = leavers.find(seen => !isServing(seen)) ?? leavers[0];
  if (!next) return [];

  const isReplaced = staying.length > asked;
  const waiting = staying.findLast(({ node }) => node === 'nowhere');
  if (isReplaced && waiting && spare < 0) return [{ kind: 'clear', seen: waiting }];

  const others = staying.filter(seen => seen !== next && isServing(seen)).length;
  const costsNothing = !isServing(next) && (isReplaced || spare > 0);
  if (others >= asked || costsNothing) return [{ kind: 'retire', seen: next, because: 'node_draining' }];

  const [slot] = emptySlots(staying.length + 1, new Set(staying.map(({ replica }) => replica.slot)));
  return !isReplaced && spare > 0 && slot !== undefined ? [{ kind: 'fill', slot }] : [];
}
