import { type Clock, type Random, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import type { Metrics } from '../metrics/index.js';
import {
  type Compactable,
  compactToPresent,
  type Put,
  type Revision,
  type Store,
  type StoreHealth,
  type StoreMember,
  StoreUnavailableFault,
} from '../store/index.js';
import { RecoveryLock } from './recovery-lock.js';
import {
  chooseMember,
  computeKeptBytes,
  isWorthDefragmenting,
  judgeRoom,
  mayDisarm,
  type RecoveryInput,
} from './store-room.js';

/** A store whose members can be maintained. */
export interface RecoverableStore extends Store, Compactable {
  members(): Promise<readonly StoreMember[]>;
  defragment(member: StoreMember): Promise<void>;
  disarm(): Promise<void>;
  putUncounted(put: Put, at: Revision): Promise<Revision | undefined>;
}

export interface StoreRecoveryOptions {
  readonly store: RecoverableStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly quotaBytes: number;
  /** What was seen of the store last. */
  readonly report: () => (StoreHealth & { readonly isReserved: boolean }) | undefined;
}

const LOOK_EVERY_MS = 2_000;
/** Between two rounds that leave the store as full as it was: doubled from one to the next. */
const PAUSE_MS = { first: 15_000, most: 600_000 };
/** etcd counts what was freed with the second write to its file after it; it writes every 100 ms. */
const COUNTED_AFTER_MS = 250;
const WAIT_MS = 500;
const READY_WITHIN_MS = 60_000;

/**
 * Makes room in a store that has none, without an administrator: it forgets all history, lets one member after the other give
 * back what is free in its file, and takes the alarm NOSPACE back, never another.
 *
 * Nothing is remembered but who has the lock: each step follows from what the members say. So a process that is killed at any
 * instruction leaves nothing behind that the next one would have to know.
 */
export class StoreRecovery {
  readonly #options: StoreRecoveryOptions;
  readonly #lock: RecoveryLock;
  #compacted = 0;
  #pauseMs = PAUSE_MS.first;
  /** What the last round left behind, and when. */
  #last: { readonly at: number; readonly health: StoreHealth } | undefined;

  constructor(options: StoreRecoveryOptions) {
    this.#options = options;
    this.#lock = new RecoveryLock(options);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      try {
        await this.look(signal);
      } catch (thrown) {
        if (signal.aborted) return;
        log.warn('room could not be made in the store; it is tried again', { error: asError(thrown) });
      }
      await sleep(clock, LOOK_EVERY_MS, signal);
    }
  }

  /** Does one round, if one is due. */
  async look(signal: AbortSignal): Promise<void> {
    const { report, clock, quotaBytes } = this.#options;
    const seen = report();
    if (!seen || quotaBytes <= 0) return;
    if (!isWanting(seen, this.#toInput(seen))) {
      this.#last = undefined;
      this.#pauseMs = PAUSE_MS.first;
      return;
    }
    if (!this.#isDue(seen) || !(await this.#lock.take())) return;
    try {
      await this.#recover(seen, signal);
    } finally {
      this.#last = { at: clock.monotonic(), health: await this.#options.store.health().catch(() => seen) };
      this.#pauseMs = Math.min(PAUSE_MS.most, this.#pauseMs * 2);
      await this.#lock.release().catch(() => undefined); // it is taken over when it has stood for long enough
    }
  }

  /** A round that has gained nothing is repeated later and later, and soon once as much was written as is worth a round. */
  #isDue({ databaseBytes, usedBytes }: StoreHealth): boolean {
    if (!this.#last) return true;
    const { at, health } = this.#last;
    const moved = Math.abs(databaseBytes - health.databaseBytes) + Math.abs(usedBytes - health.usedBytes);
    if (moved >= computeKeptBytes(this.#options.quotaBytes) / 4) this.#pauseMs = PAUSE_MS.first;
    else if (this.#options.clock.monotonic() - at < this.#pauseMs) return false;
    return true;
  }

  #toInput({ alarms, isReserved }: Pick<StoreHealth, 'alarms'> & { readonly isReserved: boolean }): RecoveryInput {
    return { quotaBytes: this.#options.quotaBytes, isReserved, isFull: alarms.includes('NOSPACE') };
  }

  async #recover(seen: StoreHealth & { readonly isReserved: boolean }, signal: AbortSignal): Promise<void> {
    const { store, clock, log, quotaBytes } = this.#options;
    const compacting = () => compactToPresent(store, this.#compacted, quotaBytes);
    this.#compacted = await this.#lock.during('compact', compacting, signal);
    const done = new Set<string>();
    while (!signal.aborted) {
      for (let write = 0; write < 2; write++) {
        await this.#lock.renew('look');
        await sleep(clock, COUNTED_AFTER_MS, signal);
      }
      const health = await store.health();
      const input = this.#toInput({ ...health, ...judgeRoom(health, quotaBytes, seen.isReserved) });
      const members = await store.members();
      const member = chooseMember(members, done, input);
      if (!member) {
        const away = members.filter(({ endpoint }) => endpoint === undefined).map(({ name }) => name);
        if (away.length > 0) log.warn('members of etcd cannot be reached to make room', { because: away.join() });
        if (!input.isFull || !mayDisarm(members, quotaBytes)) return;
        await this.#lock.renew('disarm');
        await store.disarm();
        return log.info('the alarm NOSPACE of etcd was taken back: its members have room again');
      }
      done.add(member.id);
      await this.#defragment(member, signal);
    }
  }

  async #defragment(member: StoreMember, signal: AbortSignal): Promise<void> {
    const { store, clock, log, metrics } = this.#options;
    const begun = clock.monotonic();
    try {
      await this.#lock.during(`defragment ${member.name}`, () => store.defragment(member), signal);
      const after = await this.#waitForReady(member, signal);
      const count = member.databaseBytes - (after?.databaseBytes ?? member.databaseBytes);
      metrics.count('mooring_store_defragmentations_total', { result: 'done' });
      const fields = { address: member.endpoint!, count, ms: clock.monotonic() - begun };
      log.info('a member of etcd was defragmented; count says how many bytes it gave back', fields);
    } catch (thrown) {
      metrics.count('mooring_store_defragmentations_total', { result: 'failed' });
      throw thrown;
    }
  }

  /** Undefined when we are stopped meanwhile. */
  async #waitForReady({ id, name }: StoreMember, signal: AbortSignal): Promise<StoreMember | undefined> {
    const { store, clock } = this.#options;
    const until = clock.monotonic() + READY_WITHIN_MS;
    while (!signal.aborted) {
      const own = (await store.members()).find(member => member.id === id);
      if (own?.isReady) return own;
      if (clock.monotonic() >= until)
        throw new StoreUnavailableFault(`the member ${name} of etcd has not caught up since it was defragmented`);
      await sleep(clock, WAIT_MS, signal);
    }
    return undefined;
  }
}

/** Whether there is anything to recover from. */
function isWanting(health: StoreHealth, input: RecoveryInput): boolean {
  return input.isFull || input.isReserved || isWorthDefragmenting(health, input);
}
