import { type Etcd3, EtcdLeaseInvalidError } from 'etcd3';

import type { Clock } from '../../clock/index.js';
import { StoreUnavailableFault } from '../faults.js';
import type { Lease } from '../store.js';
import { KeepAlives } from './keep-alives.js';

/** Leases, with all keep-alives of the process on one stream. */
export class Leases {
  readonly #clients: Etcd3;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  #keepAlives: KeepAlives | undefined;

  constructor(clients: Etcd3, clock: Clock, deadlineMs: number) {
    this.#clients = clients;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /** A lost answer leaves a lease behind that nobody knows of and that ends by itself. */
  async grant(ttlSeconds: number): Promise<Lease> {
    try {
      const { ID, TTL } = await this.#clients.leaseClient.leaseGrant({ TTL: Math.ceil(ttlSeconds) });
      return { id: ID, ttlSeconds: Number(TTL) };
    } catch (cause) {
      throw new StoreUnavailableFault('no lease could be had', { cause });
    }
  }

  async revoke(id: string): Promise<void> {
    try {
      await this.#clients.leaseClient.leaseRevoke({ ID: id });
    } catch (cause) {
      if (cause instanceof EtcdLeaseInvalidError) return; // it has ended already
      throw new StoreUnavailableFault('a lease could not be revoked', { cause });
    }
  }

  /** Extends the lease to its full time. False when it has ended. */
  keepAlive(id: string): Promise<boolean> {
    if (!this.#keepAlives || this.#keepAlives.broken) {
      this.#keepAlives = new KeepAlives(this.#clients, this.#clock, this.#deadlineMs);
    }
    return this.#keepAlives.ask(id);
  }

  close(): void {
    this.#keepAlives?.close();
  }
}
