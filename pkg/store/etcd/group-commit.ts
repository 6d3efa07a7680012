import { type Clock, systemClock } from '../../clock/index.js';
import { LeaseGoneFault, StoreForbiddenFault, StoreRefusedFault, StoreUnavailableFault } from '../faults.js';
import type { Verdict } from '../store.js';
import type { BatchResponse, EncodableChange } from './messages.js';

export interface GroupCommitOptions {
  /** Sends one batch. What it throws is the outcome of every change in it. */
  readonly send: (batch: readonly EncodableChange[]) => Promise<BatchResponse>;
  readonly admission?: () => BatchAdmission;
  readonly limits?: Partial<GroupLimits>;
  /** When to look at what has gathered: after this turn of the event loop. */
  readonly defer?: (pump: () => void) => void;
  readonly clock?: Clock;
  /** A change that waited so long is given up before it is sent: its caller has given up, too. */
  readonly waitAtMostMs?: number;
}

export interface GroupLimits {
  /** Changes in a batch. etcd applies a batch in one piece, so a huge one delays all others. */
  readonly items: number;
  /** Bytes in a batch. etcd takes 1.5 MB. */
  readonly bytes: number;
  /** etcd's `--max-txn-ops`: the changes of a batch and the longest list in any of them, together. */
  readonly operations: number;
  /** Batches under way at the same time. */
  readonly flights: number;
  /** Changes that are worth a batch of their own: it goes before the turn of the event loop is over. */
  readonly worthwhile: number;
}

const LIMITS: GroupLimits = { items: 100, bytes: 1 << 20, operations: 128, flights: 2, worthwhile: 16 };

/** How many waiting changes are passed over in search of some that fit. */
const LOOK_PAST = 1_000;

interface QueuedCommit {
  readonly change: EncodableChange;
  readonly resolve: (verdict: Verdict) => void;
  readonly reject: (fault: unknown) => void;
  /** When it began to wait. */
  readonly since: number;
}

/**
 * Packs the writes that come at the same time into few calls, each with a verdict of its own.
 *
 * There is no timer: while fewer than two calls are under way, what has gathered is sent at once, else it waits for one
 * of them to return. So a single write is not delayed, and under load the batches grow to what etcd can take. What could
 * go in one batch goes in two when both are worth it: etcd works on the first while we prepare the second.
 */
export class GroupCommit {
  readonly #send: (batch: readonly EncodableChange[]) => Promise<BatchResponse>;
  readonly #admission: () => BatchAdmission;
  readonly #limits: GroupLimits;
  readonly #defer: (pump: () => void) => void;
  readonly #clock: Clock;
  readonly #waitAtMostMs: number;
  readonly #flying = new Set<readonly QueuedCommit[]>();
  #waiting: QueuedCommit[] = [];
  /** How many have come since it was last looked at what waits. */
  #unseen = 0;
  #woken = false;

  constructor({
    send,
    admission = () => new ConflictAdmission(),
    limits = {},
    defer = setImmediate,
    clock = systemClock,
    waitAtMostMs = Infinity,
  }: GroupCommitOptions) {
    this.#send = send;
    this.#admission = admission;
    this.#limits = { ...LIMITS, ...limits };
    this.#defer = defer;
    this.#clock = clock;
    this.#waitAtMostMs = waitAtMostMs;
  }

  commit(change: EncodableChange): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject, since: this.#clock.monotonic() });
      this.#unseen++;
      if (this.#unseen >= this.#limits.worthwhile) this.#pump();
      if (this.#woken) return;
      this.#woken = true;
      this.#defer(() => {
        this.#woken = false;
        this.#pump();
      });
    });
  }

  #pump(): void {
    const { flights, worthwhile } = this.#limits;
    this.#unseen = 0;
    this.#dropOld();
    for (let free = flights - this.#flying.size; free > 0 && this.#waiting.length > 0; free--) {
      const batch = this.#take(Math.max(worthwhile, Math.ceil(this.#waiting.length / free)));
      if (batch.length === 0) return; // all that waits touches what is under way
      this.#flying.add(batch);
      void this.#fly(batch).finally(() => {
        this.#flying.delete(batch);
        this.#pump();
      });
    }
  }

  /** Gives up what has waited too long: in an outage nothing else would. Those that waited longest stand first. */
  #dropOld(): void {
    const oldest = this.#clock.monotonic() - this.#waitAtMostMs;
    const first = this.#waiting[0];
    if (!first || first.since >= oldest) return;
    const old = this.#waiting.filter(({ since }) => since < oldest);
    this.#waiting = this.#waiting.filter(({ since }) => since >= oldest);
    for (const { reject } of old) reject(new StoreUnavailableFault('the change waited too long for those before it'));
  }

  async #fly(batch: readonly QueuedCommit[]): Promise<void> {
    try {
      const { revision, verdicts } = await this.#send(batch.map(({ change }) => change));
      batch.forEach(({ resolve }, n) => resolve(verdicts[n] ? { stored: true, revision } : { stored: false }));
    } catch (thrown) {
      // One change can make etcd refuse the whole batch: a lease that has ended, too many operations. Nothing of it was
      // stored, so the others may be sent again without it.
      const refused =
        thrown instanceof LeaseGoneFault ||
        thrown instanceof StoreRefusedFault ||
        thrown instanceof StoreForbiddenFault;
      if (refused && batch.length > 1) for (const item of batch) await this.#fly([item]);
      else for (const { reject } of batch) reject(thrown);
    }
  }

  #take(most: number): readonly QueuedCommit[] {
    const admission = this.#admission();
    for (const flight of this.#flying) for (const { change } of flight) admission.note(change);

    const batch: QueuedCommit[] = [];
    const passed: QueuedCommit[] = [];
    let bytes = 0;
    let longest = 0;
    let looked = 0;
    for (const item of this.#waiting) {
      const list = Math.max(longest, measureChange(item.change));
      if (
        batch.length >= most ||
        passed.length >= LOOK_PAST ||
        (batch.length > 0 && this.#isFull(batch.length, bytes + item.change.size, list))
      )
        break;
      looked++;
      if (admission.fits(item.change)) {
        batch.push(item);
        bytes += item.change.size;
        longest = list;
      } else {
        passed.push(item);
      }
      admission.note(item.change);
    }
    this.#waiting = passed.concat(this.#waiting.slice(looked));
    return batch;
  }

  #isFull(items: number, bytesWithNext: number, longestWithNext: number): boolean {
    const { items: most, bytes, operations } = this.#limits;
    return items >= most || bytesWithNext > bytes || items + 1 + longestWithNext > operations;
  }
}

function measureChange({ guards, puts, deletes }: EncodableChange): number {
  return Math.max(guards.length, puts.length + deletes.length);
}

/** Decides which changes may travel in one batch. One is made for each batch. */
export interface BatchAdmission {
  /** Whether `change` may go along with, or at the same time as, all that was noted so far. */
  fits(change: EncodableChange): boolean;
  /** From now on `change` counts, whether it goes along or waits. */
  note(change: EncodableChange): void;
}

/**
 * Keeps apart changes that meet.
 *
 * etcd judges the guards of all changes of a batch on the state *before* the batch. Were two changes that guard on
 * each other's keys in one batch, both would be made, though each alone forbids the other. So no change may join that
 * guards on, or writes, what another one writes. Changes that wait are noted too: they hold back later ones on the
 * same keys, so that order per key stays first come, first served.
 */
export class ConflictAdmission implements BatchAdmission {
  readonly #guarded = new Set<string>();
  readonly #written = new Set<string>();

  fits({ guards, puts, deletes }: EncodableChange): boolean {
    for (const { key } of guards) if (this.#written.has(key)) return false;
    for (const { key } of puts) if (this.#written.has(key) || this.#guarded.has(key)) return false;
    for (const key of deletes) if (this.#written.has(key) || this.#guarded.has(key)) return false;
    return true;
  }

  note({ guards, puts, deletes }: EncodableChange): void {
    for (const { key } of guards) this.#guarded.add(key);
    for (const { key } of puts) this.#written.add(key);
    for (const key of deletes) this.#written.add(key);
  }
}
