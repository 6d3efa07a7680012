import { TenantFleets } from '../../pkg/fleet/index.js';
import type { Cache } from '../../pkg/store/index.js';
import type { ObservedReplica } from '../reading/index.js';
import { withNode } from './changes.js';
import type { Assignment } from './decide.js';

/** What the scheduler keeps from one reconcile to the next. All of it can be lost: after a crash the store decides. */
export class SchedulerState {
  readonly fleets: TenantFleets;
  readonly assumed: AssumedPlacements;
  readonly throttle = new ExplainThrottle();

  constructor(cache: Cache) {
    this.fleets = new TenantFleets(cache);
    this.assumed = new AssumedPlacements(this.fleets);
  }
}

/** No request to the store is under way for longer. */
const REQUEST_MAX_MS = 60_000;

interface Reservation {
  readonly assignments: readonly Assignment[];
  readonly since: number;
  readonly release: () => void;
}

/**
 * Placements whose outcome is unknown: their request failed without an answer, and may still arrive at the store. They
 * keep their reservation until their deployment is reconciled again, and after that for as long as they may still be
 * committed: no other deployment is given the last of a quota meanwhile.
 */
export class AssumedPlacements {
  readonly #fleets: TenantFleets;
  readonly #reservations = new Map<string, Reservation>();

  constructor(fleets: TenantFleets) {
    this.#fleets = fleets;
  }

  /** Reserves capacity for these placements of the deployment `key`, which were sent at `since`. */
  keep(key: string, assignments: readonly Assignment[], since: number): void {
    if (assignments.length === 0) return;
    this.#reservations.set(key, { assignments, since, release: this.#fleets.assume(assignments.map(withNode)) });
  }

  /** Releases the reservation, so that the deployment can be decided again. */
  lift(key: string, now: number): ReleasedPlacements {
    const reservation = this.#reservations.get(key);
    reservation?.release();
    this.#reservations.delete(key);
    const open = reservation && now - reservation.since <= REQUEST_MAX_MS ? reservation.assignments : [];
    const isOpen = (seen: ObservedReplica) => open.some(each => isSame(seen, each.seen));
    return {
      first: waiting => [...waiting.filter(isOpen), ...waiting.filter(seen => !isOpen(seen))],
      keepOpen: (waiting, decided) => {
        const isDecided = ({ seen }: Assignment) => decided.some(each => each.seen.replica.uid === seen.replica.uid);
        const left = open.filter(each => !isDecided(each) && waiting.some(seen => isSame(seen, each.seen)));
        this.keep(key, left, reservation?.since ?? now);
      },
    };
  }
}

/** The placements of a deployment that were reserved until now. */
export interface ReleasedPlacements {
  /** The replicas in the order in which to decide them: a placement that may still be committed keeps its reservation. */
  readonly first: (waiting: readonly ObservedReplica[]) => readonly ObservedReplica[];
  /** Reserves again what may still be committed and was not decided now. */
  readonly keepOpen: (waiting: readonly ObservedReplica[], decided: readonly Assignment[]) => void;
}

/** Whether the replica is unchanged since its placement was sent: otherwise the guard of that request fails. */
function isSame(now: ObservedReplica, then: ObservedReplica): boolean {
  return now.replica.uid === then.replica.uid && now.revision === then.revision;
}

/** Fleets up to this size are explained on every reconcile. */
const SMALL_FLEET = 200;

/** Milliseconds that explaining one node takes, times five: explaining gets a fifth of the time. */
const SHARE_MS_A_NODE = 0.01 * 5;

/**
 * Limits how often all nodes are asked again why they reject a deployment that was explained before.
 *
 * Thousands of nodes times hundreds of waiting deployments would leave time for nothing else whenever a node changes. So
 * explaining again gets a fifth of the time, one deployment after the other. Placing never waits for it.
 */
export class ExplainThrottle {
  readonly #turns = new Map<string, number>();
  #free = 0;

  /** How long the deployment has to wait for its turn. 0: it is its turn, and it has been taken. */
  waitFor(key: string, nodes: number, now: number): number {
    if (nodes <= SMALL_FLEET) return 0;
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
