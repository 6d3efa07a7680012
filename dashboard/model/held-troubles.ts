import type { Trouble } from './object-troubles.js';

/** Something that is wrong, or was when it was drawn. */
export interface HeldTrouble {
  readonly trouble: Trouble;
  /** It is right again. It is still drawn, so that what stands below it does not move. */
  readonly isSettled: boolean;
}

/** More than are drawn: room for what is right again would be taken from what is wrong. */
export const HELD_MAX = 50;

/** What is wrong, in the order in which it stood: what is new comes last, and what is right again keeps its place. */
export function holdTroubles(stood: readonly HeldTrouble[], now: readonly Trouble[]): readonly HeldTrouble[] {
  const current = new Map(now.map(trouble => [trouble.key, trouble]));
  const known = new Set(stood.map(({ trouble: { key } }) => key));
  const kept = stood.map(({ trouble }) => {
    const found = current.get(trouble.key);
    return { trouble: found ?? trouble, isSettled: found === undefined };
  });
  const added = now.filter(({ key }) => !known.has(key)).map(trouble => ({ trouble, isSettled: false }));
  const all = [...kept, ...added];
  return all.length > HELD_MAX ? all.filter(({ isSettled }) => !isSettled) : all;
}

/** Whether something is drawn that is right again, or not where it belongs: what others may follow from is first. */
export function isOutOfOrder(held: readonly HeldTrouble[], now: readonly Trouble[]): boolean {
  return held.length !== now.length || held.some(({ trouble }, at) => trouble.key !== now[at]?.key);
}
