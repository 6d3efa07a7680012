import type { Clock, Random } from '../clock/index.js';
import type { EventWriter } from '../events/index.js';
import { Fault } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import type { Cache, CacheChange, Change, Guard, Store } from '../store/index.js';

/** What the runtime does with the key next. After anything thrown it retries the key with a growing delay. */
export type ReconcileResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly afterMs: number; readonly because: string };

/** Nothing is left to do for the key until something changes. */
export const done: ReconcileResult = { kind: 'done' };

/** Reconcile the key again after a delay, because no wake announces the change that it waits for. */
export const again = (afterMs: number, because: string): ReconcileResult => ({ kind: 'again', afterMs, because });

/** Everything with side effects that a loop may use. */
export interface LoopEnv {
  readonly clock: Clock;
  readonly random: Random;
  readonly cache: Cache;
  /** The store itself, for what the cache does not hold. */
  readonly reads: Pick<Store, 'get' | 'page'>;
  readonly log: Logger;
  readonly events: EventWriter;
  /**
   * Makes a change, as the leader of this loop and only while it is: the leader key's create revision is
   * among the guards of every transaction.
   *
   * Resolves when the cache shows the change, so that no loop decides again without seeing its own writes.
   * Throws `PreconditionFault` when a guard fails: the runtime then has the key reconciled once more.
   */
  commit(change: Change): Promise<void>;
  /** Holds while this process leads the loop: for changes that are not made by `commit`. */
  readonly fence: Guard;
  /** Grants a lease for keys that are to expire, timed by the store and not by a clock of ours. Returns its id. */
  lease(ttlSeconds: number): Promise<string>;
}

/**
 * Brings the actual state into line with the desired state of one object, named by `key`.
 *
 * It may be called at any time, for any reason, twice in a row and after any crash, so it reads all it
 * needs, decides, writes what differs, and may find nothing to do.
 */
export type Reconcile = (key: string, env: LoopEnv, signal: AbortSignal) => Promise<ReconcileResult>;

/** Which keys of a loop's queue a change to the store wakes. */
export interface Wake {
  /** Only changes below this prefix wake the loop. */
  readonly prefix: string;
  readonly keys: (change: CacheChange, cache: Cache) => readonly string[];
}

/** A loop is a value. The runtime owns its queue, leadership, metrics and shutdown. */
export interface Loop {
  readonly name: string;
  readonly wakes: readonly Wake[];
  readonly reconcile: Reconcile;
  /** Keys reconciled at the same time; one key is never worked on twice at once. */
  readonly concurrency?: number;
}

/** How a reconcile ended. */
export type ReconcileOutcome = 'done' | 'again' | 'retry' | 'refused';

/** What the runtime measures of its loops. Implemented with real metrics by the process, and by nothing in most tests. */
export interface LoopMeter {
  /** Keys that wait to be worked on. */
  depth(loop: string, keys: number): void;
  /** A key has waited this long between being added and being worked on. */
  waited(loop: string, ms: number): void;
  /** A reconcile ended after this long. `retry` will be tried again later, `refused` not until its object changes. */
  reconciled(loop: string, ending: ReconcileOutcome, ms: number): void;
  /** This process began or ceased to lead the loop. */
  leading(loop: string, leads: boolean): void;
}

/** Measures nothing. */
export const noMeter: LoopMeter = {
  depth: () => undefined,
  waited: () => undefined,
  reconciled: () => undefined,
  leading: () => undefined,
};

/**
 * A guard failed: another writer was first, or another process leads now. Nothing was stored; read again and decide again.
 */
export class PreconditionFault extends Fault {
  readonly retriable = true;
}
