import { keys } from '../../crds/keys/index.js';
import { type Clock, type Random, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import type { Guard, Lease, Store } from './store.js';
import { encode } from './documents.js';
import type { Cache } from './watch-cache.js';

/** What stands under `leaders/<name>`. */
export interface LeaderRecord {
  readonly holder: string;
  /** When the term began, as wall time for people. */
  readonly since: string;
  /** The lease that the record is on, so that its holder can add to it. */
  readonly lease: string;
  /** When the leader last did something. Absent until it has. */
  readonly lastReconcileAt?: string;
}

export interface LeadershipOptions {
  readonly store: Store;
  /** Notifies when the record of a leader is deleted. Without it the store is polled. */
  readonly cache?: Pick<Cache, 'connected' | 'get' | 'subscribe'>;
  readonly clock: Clock;
  readonly random: Random;
  /** What is led: the key is `leaders/<name>`. */
  readonly name: string;
  /** Who leads, unique among all processes. */
  readonly holder: string;
  readonly ttlSeconds: number;
  readonly log: Logger;
}

/** What a leader does while it leads. It must end soon after `lost` is aborted. */
export type LeaderTerm = (fence: Guard, lost: AbortSignal) => Promise<void>;

interface LeaderLease {
  readonly lease: Lease;
  readonly fence: Guard;
  /** When the last request to extend the lease, that was granted, was sent. */
  readonly confirmedAt: number;
}

/**
 * At most one leader of a name, even when clocks stand still and messages are lost.
 *
 * Two things make that so. A leader gives up by itself at two thirds of its lease, counted on its own monotonic
 * clock from when it *sent* the last keep-alive that was granted, which is before another leader can be elected. And a
 * leader that was paused past all of that is stopped by the fence: every change it makes is guarded by the create
 * revision of its leader key, which no later leader has.
 */
export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #key: string;
  readonly #log: Logger;
  /** A lease of ours that may still hold the key: while it does, no process can lead, not even this one. */
  #unrevoked: Lease | undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
    this.#key = keys.leader(options.name);
    this.#log = options.log.with({ loop: options.name });
  }

  /**
   * Campaigns, leads, and campaigns again, until `signal` is aborted. `term` is called with the fence that must be
   * among the guards of every change, and with a signal that is aborted when leadership is given up.
   */
  async run(signal: AbortSignal, term: LeaderTerm): Promise<void> {
    while (!signal.aborted) {
      let isLedByOther = false;
      try {
        const office = await this.#campaign();
        if (office) await this.#serve(office, signal, term);
        else isLedByOther = true;
      } catch (thrown) {
        this.#log.warn('leader election failed, retrying', { error: asError(thrown) });
      }
      await (isLedByOther ? this.#standBy(signal) : this.#pause(signal));
    }
  }

  /** Undefined when another process leads. */
  async #campaign(): Promise<LeaderLease | undefined> {
    const { store, clock, holder, ttlSeconds } = this.#options;
    if (this.#unrevoked) await store.revoke(this.#unrevoked.id);
    this.#unrevoked = undefined;
    if (await store.get(this.#key)) return undefined;

    const confirmedAt = clock.monotonic();
    const lease = await store.grant(ttlSeconds);
    try {
      const record: LeaderRecord = { holder, since: new Date(clock.now()).toISOString(), lease: lease.id };
      const verdict = await store.commit({
        guards: [{ key: this.#key, at: 0 }],
        puts: [{ key: this.#key, bytes: encode(record), lease: lease.id }],
        deletes: [],
      });
      if (verdict.stored) return { lease, confirmedAt, fence: { key: this.#key, created: verdict.revision } };
    } catch (thrown) {
      await this.#revoke(lease);
      throw thrown;
    }
    await this.#revoke(lease);
    return undefined;
  }

  async #serve({ lease, fence, confirmedAt }: LeaderLease, signal: AbortSignal, term: LeaderTerm): Promise<void> {
    const lost = new AbortController();
    const giveUp = () => lost.abort();
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();

    const keeping = this.#keep(lease, confirmedAt, lost);
    this.#log.info('became leader');
    try {
      if (!lost.signal.aborted) await term(fence, lost.signal);
    } catch (thrown) {
      this.#log.error('leadership ended with an error', { error: asError(thrown) });
    } finally {
      signal.removeEventListener('abort', giveUp);
      giveUp();
      await keeping;
      await this.#revoke(lease);
      this.#log.info('no longer leader');
    }
  }

  /** Extends the lease until leadership is lost, and aborts `lost` when it cannot be extended in time. */
  async #keep(lease: Lease, confirmedAt: number, lost: AbortController): Promise<void> {
    const { clock, ttlSeconds } = this.#options;
    const termMs = (ttlSeconds * 2_000) / 3;
    const expireAt = (at: number) => clock.after(Math.max(0, at - clock.monotonic()), () => lost.abort());
    let cancel = expireAt(confirmedAt + termMs);
    while (!lost.signal.aborted) {
      await sleep(clock, termMs / 4, lost.signal);
      if (lost.signal.aborted) break;

      const sentAt = clock.monotonic();
      const alive = await this.#extend(lease, lost.signal);
      if (alive === false) lost.abort();
      if (!alive || lost.signal.aborted) continue;
      cancel();
      cancel = expireAt(sentAt + termMs);
    }
    cancel();
  }

  /** Undefined when it could not be found out: the time that is left decides. */
  async #extend(lease: Lease, lost: AbortSignal): Promise<boolean | undefined> {
    let giveUp: () => void = () => undefined;
    const expired = new Promise<undefined>(resolve => {
      giveUp = () => resolve(undefined);
      lost.addEventListener('abort', giveUp, { once: true });
    });
    try {
      return await Promise.race([this.#options.store.keepAlive(lease.id), expired]);
    } catch (thrown) {
      this.#log.warn('a lease could not be extended', { error: asError(thrown) });
      return undefined;
    } finally {
      // A term may last for years: neither a listener nor a promise may gather what waited for it.
      lost.removeEventListener('abort', giveUp);
    }
  }

  /** Lets the next leader begin at once. Should it fail, the lease ends by itself. */
  async #revoke(lease: Lease): Promise<void> {
    try {
      await this.#options.store.revoke(lease.id);
    } catch (thrown) {
      this.#unrevoked = lease;
      this.#log.debug('a lease could not be revoked', { error: asError(thrown) });
    }
  }

  /**
   * Waits while another process leads, as far as the cache shows, and a lease at most: the member of etcd that the cache follows may
   * be cut off from the others, and then never shows that the record of the leader is deleted.
   */
  async #standBy(signal: AbortSignal): Promise<void> {
    const { cache, clock, ttlSeconds } = this.#options;
    const until = clock.monotonic() + ttlSeconds * 1_000;
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    const unsubscribe = cache?.subscribe(({ key, entry }) => {
      if (key === this.#key && !entry) end();
    });
    do await this.#pause(over.signal);
    while (!over.signal.aborted && clock.monotonic() < until && cache?.connected && cache.get(this.#key));
    unsubscribe?.();
    signal.removeEventListener('abort', end);
  }

  /** About a tenth of the lease, so that a standby without a cache takes over soon after the leader's lease has ended. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { clock, random, ttlSeconds } = this.#options;
    await sleep(clock, ttlSeconds * 100 * (0.5 + random.next()), signal);
  }
}
