/** The deployment that users roll out, and the one that load moves where nobody rolls that one out. */
export const SHOP = 'shop';
const POOL = 'pool';

/** What happens in the world of a seed, beside what happens in all of them. */
export interface Mix {
  /** New images are rolled out, with canaries and without. */
  readonly isRolled: boolean;
  /** Users ask for jobs with a schedule. */
  readonly isScheduled: boolean;
  /** The deployment that load moves. */
  readonly scaled?: string;
}

const EVERYTHING_AT = 4;
const MIXES = 8;

/** One thing at a time, everything at once (a canary of what load moves, while jobs run), and nothing of it. */
export function chooseMix(seed: number, hasEverything = false): Mix {
  const turn = seed % MIXES;
  const isAll = hasEverything || turn === EVERYTHING_AT;
  return {
    isRolled: isAll || turn === 0,
    isScheduled: isAll || turn === 2,
    ...((isAll || turn === 3) && { scaled: isAll ? SHOP : POOL }),
  };
}
