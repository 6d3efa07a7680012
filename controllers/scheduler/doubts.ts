import type { Fleets } from '../../pkg/fleet/index.js';
import type { SeenReplica } from '../reading/index.js';
import { type Assignment, placed } from './changes.js';

/** No request is on its way for longer. */
const DOUBT_MS = 60_000;

interface Doubt {
  readonly assignments: readonly Assignment[];
  readonly since: number;
  readonly takeBack: () => void;
}

/**
 * Placements of which it is not known whether they were made, or will be: an answer that is lost may be that of a request
 * which arrives late. They count as made until their deployment is looked at again, and go on counting for as long as
 * they could be made: nobody else may be given the last of a quota meanwhile.
 */
export class Doubts {
  readonly #fleets: Fleets;
  readonly #doubts = new Map<string, Doubt>();

  constructor(fleets: Fleets) {
    this.#fleets = fleets;
  }

  /** Counts these placements of the deployment `key`, from `since` on. */
  keep(key: string, assignments: readonly Assignment[], since: number): void {
    if (assignments.length === 0) return;
    this.#doubts.set(key, { assignments, since, takeBack: this.#fleets.assume(assignments.map(placed)) });
  }

  /** Counts them no longer, so that the deployment can be decided anew. */
  lift(key: string, now: number): Lifted {
    const doubt = this.#doubts.get(key);
    doubt?.takeBack();
    this.#doubts.delete(key);
    const open = doubt && now - doubt.since <= DOUBT_MS ? doubt.assignments : [];
    const isOpen = (seen: SeenReplica) => open.some(each => isSame(seen, each.seen));
    return {
      first: waiting => [...waiting.filter(isOpen), ...waiting.filter(seen => !isOpen(seen))],
      keepOpen: (waiting, decided) => {
        const isDecided = ({ seen }: Assignment) => decided.some(each => each.seen.replica.uid === seen.replica.uid);
        const left = open.filter(each => !isDecided(each) && waiting.some(seen => isSame(seen, each.seen)));
        this.keep(key, left, doubt?.since ?? now);
      },
    };
  }
}

/** What was in doubt about a deployment that is decided anew. */
export interface Lifted {
  /** The replicas in the order in which they are to be decided: what may be made yet has the room that it was given. */
  readonly first: (waiting: readonly SeenReplica[]) => readonly SeenReplica[];
  /** Goes on counting what may be made yet and was not decided now. */
  readonly keepOpen: (waiting: readonly SeenReplica[], decided: readonly Assignment[]) => void;
}

/** Whether a replica is as it was when it was to be placed: only then can it still be. */
function isSame(now: SeenReplica, then: SeenReplica): boolean {
  return now.replica.uid === then.replica.uid && now.revision === then.revision;
}
