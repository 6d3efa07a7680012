/** The deployment that users roll out, and the one that load moves where nobody rolls that one out. */
export const SHOP = 'shop';
const POOL = 'pool';

/** What happens in the world of a seed, beside what happens in all of them. */
export interface Mix {
  /** New images are rolled out, with canaries and without. */
  readonly isRolled: boolean;
  /** Users ask for jobs with a schedule. */
  readonly isScheduled: boolean;
  /** Volumes come, are mounted, and go. */
  readonly hasVolumes: boolean;
  /** Some of them are replicated, and little else happens. */
  readonly hasCopies: boolean;
  /** One of the machines keeps its volumes with another driver. */
  readonly hasOddDriver: boolean;
  /** The deployment that load moves. */
  readonly scaled?: string;
  /** In the end machines go abroad whose data may not. */
  readonly isMovedAbroad: boolean;
}

export type MixName = keyof typeof TURNS;

/** Whose turn it is, out of so many: the rest of the seeds have nothing of it. */
const TURNS = { rollouts: 0, schedules: 2, scaling: 3, everything: 4, volumes: 5, copies: 6, residency: 7 } as const;
const MIXES = 8;
/** Volumes, which cost most, have every second of theirs, and one more: in the end of an even seed nothing may happen, of an odd one quotas are lowered. */
const VOLUMES_AT: readonly number[] = [TURNS.volumes, 2 * MIXES - 2];
/** Copies have one of those that volumes leave, and every second of another. */
const COPIES_AT: readonly number[] = [2 * MIXES - 3, TURNS.copies, 4 * MIXES - 3];

/** One thing at a time, everything at once (a canary of what load moves, while jobs run), and nothing of it. */
export function chooseMix(seed: number, name?: MixName): Mix {
  const turn = name ? TURNS[name] : seed % MIXES;
  const isAll = turn === TURNS.everything;
  const hasCopies = name ? name === 'copies' : COPIES_AT.includes(seed % (4 * MIXES));
  const hasVolumes = name ? name === 'volumes' : VOLUMES_AT.includes(seed % (2 * MIXES));
  return {
    isRolled: isAll || turn === TURNS.rollouts,
    isScheduled: isAll || turn === TURNS.schedules,
    hasVolumes: hasVolumes || hasCopies,
    hasCopies,
    hasOddDriver: hasCopies && Math.floor(seed / 3) % 2 === 1,
    isMovedAbroad: turn === TURNS.residency,
    ...((isAll || turn === TURNS.scaling) && { scaled: isAll ? SHOP : POOL }),
  };
}
