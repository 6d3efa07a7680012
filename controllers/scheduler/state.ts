import type { TenantFleets } from '../../pkg/fleet/index.js';
import type { ObservedReplica } from '../reading/index.js';
import { type Assignment, withNode } from './changes.js';

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
export class AssumedPlacements {
  readonly #fleets: TenantFleets;
  readonly #doubts = new Map<string, Doubt>();

  constructor(fleets: TenantFleets) {
    this.#fleets = fleets;
  }

  /** Counts these placements of the deployment `key`, from `since` on. */
  keep(key: string, assignments: readonly Assignment[], since: number): void {
    if (assignments.length === 0) return;
    this.#doubts.set(key, { assignments, since, takeBack: this.#fleets.assume(assignments.map(withNode)) });
  }

  /** Counts them no longer, so that the deployment can be decided anew. */
  lift(key: string, now: number): ReleasedPlacements {
    const doubt = this.#doubts.get(key);
    doubt?.takeBack();
    this.#doubts.delete(key);
    const open = doubt && now - doubt.since <= DOUBT_MS ? doubt.assignments : [];
    const isOpen = (seen: ObservedReplica) => open.some(each => isSame(seen, each.seen));
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
export interface ReleasedPlacements {
  /** The replicas in the order in which they are to be decided: what may be made yet has the room that it was given. */
  readonly first: (waiting: readonly ObservedReplica[]) => readonly ObservedReplica[];
  /** Goes on counting what may be made yet and was not decided now. */
  readonly keepOpen: (waiting: readonly ObservedReplica[], decided: readonly Assignment[]) => void;
}

/** Whether a replica is as it was when it was to be placed: only then can it still be. */
function isSame(now: ObservedReplica, then: ObservedReplica): boolean {
  return now.replica.uid === then.replica.uid && now.revision === then.revision;
}

/** Fleets up to this size are explained whenever something has changed. */
const SMALL = 200;

/** How long one node is expected to take, times what everything else is to have beside it. */
const SHARE_MS_A_NODE = 0.01 * 5;

/**
 * Says when a deployment that waits already may have all nodes asked again why.
 *
 * Thousands of nodes times hundreds of deployments that wait would leave time for nothing else, whenever a node changes. So
 * explaining again what was explained before gets a fifth of the time, and each its turn; placing never waits for it.
 */
export class ExplainThrottle {
  readonly #turns = new Map<string, number>();
  #free = 0;

  /** How long the deployment has to wait for its turn. 0: it is its turn, and it has been taken. */
  waitFor(key: string, nodes: number, now: number): number {
    if (nodes <= SMALL) return 0;
    const turn = this.#turns.get(key) ?? this.#next(nodes, now);
    if (turn <= now) this.#turns.delete(key);
    else this.#turns.set(key, turn);
    return Math.max(0, turn - now);
  }

  /** The deployment no longer waits. */
  forget(key: string): void {
    this.#turns.delete(key);
  }

  #next(nodes: number, now: number): number {
    const turn = Math.max(now, this.#free);
    this.#free = turn + nodes * SHARE_MS_A_NODE;
    return turn;
  }
}
