import type { Clock } from '../clock/index.js';
import type { Store } from '../store/index.js';

const HOUR_MS = 3_600_000;

/**
 * The leases that make events expire: one for all events of an hour, not one an event.
 *
 * A lease is dropped an hour after it was granted, long before it ends, because one put on an ended lease would
 * fail the whole batch it travels in.
 */
export class EventLeases {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ttlSeconds: number;
  #current: { readonly id: Promise<string>; readonly until: number } | undefined;

  constructor(store: Store, clock: Clock, retentionDays: number) {
    this.#store = store;
    this.#clock = clock;
    this.#ttlSeconds = retentionDays * 86_400 + 3_600;
  }

  /** The lease to put an event on now. */
  current(): Promise<string> {
    const now = this.#clock.monotonic();
    if (this.#current && now < this.#current.until) return this.#current.id;

    const id = this.#store.grant(this.#ttlSeconds).then(lease => lease.id);
    const granted = { id, until: now + HOUR_MS };
    this.#current = granted;
    id.catch(() => {
      if (this.#current === granted) this.#current = undefined;
    });
    return id;
  }

  /** Forgets a lease that turned out to be gone, so that the next event gets a new one. */
  discard(): void {
    this.#current = undefined;
  }
}
