import { keys } from '../../crds/keys/index.js';
import { type Clock, type Random, sleep } from '../clock/index.js';
import { Fault } from '../fault/index.js';
import { encode, type Put, type Revision, type Store, value } from '../store/index.js';

/** What stands under the key of the recovery. */
interface RecoveryRecord {
  /** Which process has the lock; empty: none. */
  readonly holder: string;
  /** What it is about to do. */
  readonly step: string;
}

export interface RecoveryLockOptions {
  readonly store: Store & { putUncounted(put: Put, at: Revision): Promise<Revision | undefined> };
  readonly clock: Clock;
  readonly random: Random;
}

/** A record that has not changed for so long is that of a process that has ended. */
const LOCK_MS = 60_000;
const RENEW_MS = 10_000;

/** Another process has the lock, or this one has no more time. */
class LockLostFault extends Fault {
  readonly retriable = true;
}

/**
 * The lock for recovering the store, which one process of the control plane has at a time. It is no lease and no leadership, since
 * under the alarm etcd grants none: it is a record that is taken under the alarm too, and that its holder writes again and again.
 */
export class RecoveryLock {
  readonly #options: RecoveryLockOptions;
  readonly #holder: string;
  /** The record of another process, and since when it stands, by our monotonic clock. */
  #seen = { revision: -1, since: 0 };

  constructor(options: RecoveryLockOptions) {
    this.#options = options;
    this.#holder = options.random.bytes(8).toString('hex');
  }

  /** False while another process has it. */
  async take(): Promise<boolean> {
    const { store, clock } = this.#options;
    const entry = await store.get(keys.recovery());
    const holder = entry ? value<RecoveryRecord>(entry).holder : '';
    const revision = entry?.revision ?? 0;
    const now = clock.monotonic();
    if (this.#seen.revision !== revision) this.#seen = { revision, since: now };
    const isFree = holder === '' || holder === this.#holder || now - this.#seen.since >= LOCK_MS;
    return isFree && this.#write('begin', revision);
  }

  /** Says what comes next. Throws when another process has taken the lock. */
  async renew(step: string): Promise<void> {
    const entry = await this.#options.store.get(keys.recovery()); // the answer to an earlier write may have been lost
    const isOurs = entry !== undefined && value<RecoveryRecord>(entry).holder === this.#holder;
    if (!isOurs || !(await this.#write(step, entry.revision)))
      throw new LockLostFault('another process of the control plane recovers the store');
  }

  /**
   * Keeps the lock during work that may take minutes, and in which a single member takes no record. Throws when `signal` is
   * aborted first: what etcd has begun it ends by itself.
   */
  async during<Result>(step: string, work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    await this.renew(step);
    const over = new AbortController();
    const working = work().finally(() => over.abort());
    working.catch(() => undefined); // awaited below
    const either = AbortSignal.any([over.signal, signal]);
    while (!either.aborted) {
      await sleep(this.#options.clock, RENEW_MS, either);
      if (!either.aborted) await this.renew(step).catch(() => undefined); // the step after this one finds out
    }
    if (!over.signal.aborted) throw new LockLostFault('this process is being stopped');
    return working;
  }

  /** Lets others take it at once. */
  async release(): Promise<void> {
    const entry = await this.#options.store.get(keys.recovery());
    if (entry && value<RecoveryRecord>(entry).holder === this.#holder) await this.#put('', '', entry.revision);
  }

  #write(step: string, at: Revision): Promise<boolean> {
    return this.#put(this.#holder, step, at);
  }

  async #put(holder: string, step: string, at: Revision): Promise<boolean> {
    const record: RecoveryRecord = { holder, step };
    const revision = await this.#options.store.putUncounted({ key: keys.recovery(), bytes: encode(record) }, at);
    return revision !== undefined;
  }
}
