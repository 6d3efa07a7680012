import type { Etcd3 } from 'etcd3';

import { type Clock, type Random, systemClock, systemRandom } from '../../clock/index.js';
import { type Logger, silentLogger } from '../../log/index.js';
import { checkChange } from '../change.js';
import type { Change, Entry, Feed, FollowOptions, Lease, Listing, Revision, Store, Verdict } from '../store.js';
import { EtcdFollow } from './etcd-follow.js';
import { EtcdReads } from './etcd-reads.js';
import { EtcdWrites } from './etcd-writes.js';
import { readHistory } from './history.js';
import { Leases } from './leases.js';
import type { TlsMaterial } from './line.js';
import { decodeVersion, encodeNothing } from './messages.js';
import { rawClients } from './raw-clients.js';
import { versionWarning } from './version.js';
import { Wire } from './wire.js';

export interface EtcdStoreOptions {
  readonly endpoints: readonly string[];
  /** Where in etcd everything is kept; ends in `/`. */
  readonly prefix: string;
  readonly tls?: TlsMaterial;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Logger;
  /** How long one call may take. */
  readonly callDeadlineMs?: number;
  /** How long it is tried to find out what became of a change whose answer was lost. */
  readonly settleWithinMs?: number;
  /** Entries in one page of a list. */
  readonly pageSize?: number;
  /** A watch that says nothing for two of these is given up. */
  readonly livenessMs?: number;
  /** How often what was followed is compared with a list. */
  readonly compareEveryMs?: number;
}

/**
 * The store in etcd.
 *
 * Reads, writes and watches travel on our own connections (`Wire`); leases on etcd3's raw clients.
 */
export class EtcdStore implements Store {
  readonly #options: Required<Omit<EtcdStoreOptions, 'tls'>>;
  readonly #wire: Wire;
  readonly #clients: Etcd3;
  readonly #reads: EtcdReads;
  readonly #writes: EtcdWrites;
  readonly #leases: Leases;
  readonly #closed = new AbortController();

  constructor({ tls = {}, ...given }: EtcdStoreOptions) {
    const options = { ...DEFAULTS, ...given };
    const { clock, random, callDeadlineMs, prefix: root } = options;
    this.#options = options;
    this.#wire = new Wire({ ...options, tls });
    this.#clients = rawClients(options.endpoints, tls, callDeadlineMs);
    this.#reads = new EtcdReads(this.#wire, root, options.pageSize);
    this.#leases = new Leases(this.#clients, clock, callDeadlineMs);
    this.#writes = new EtcdWrites({
      wire: this.#wire,
      reads: this.#reads,
      root,
      clock,
      random,
      settleWithinMs: options.settleWithinMs,
      grant: ttlSeconds => this.#leases.grant(ttlSeconds),
      history: (after, until) =>
        readHistory(
          {
            wire: this.#wire,
            clock,
            log: options.log,
            root,
            clusterId: () => this.#reads.clusterId(),
            withinMs: options.settleWithinMs,
          },
          after,
          until,
        ),
    });
  }

  get(key: string): Promise<Entry | undefined> {
    return this.#reads.entry(key);
  }

  list(prefix: string, at?: Revision): Promise<Listing> {
    return this.#reads.list(prefix, at === undefined ? {} : { at });
  }

  revision(): Promise<Revision> {
    return this.#reads.revision();
  }

  async commit(change: Change): Promise<Verdict> {
    checkChange(change);
    return this.#writes.commit(change);
  }

  follow(feed: Feed, options: FollowOptions, signal: AbortSignal): Promise<void> {
    const follow = new EtcdFollow(
      { ...this.#options, wire: this.#wire, reads: this.#reads, root: this.#options.prefix },
      feed,
      options,
    );
    return follow.run(AbortSignal.any([signal, this.#closed.signal]));
  }

  grant(ttlSeconds: number): Promise<Lease> {
    return this.#leases.grant(ttlSeconds);
  }

  keepAlive(leaseId: string): Promise<boolean> {
    return this.#leases.keepAlive(leaseId);
  }

  revoke(leaseId: string): Promise<void> {
    return this.#leases.revoke(leaseId);
  }

  /** Logs the version of the server, and warns of one with defects that we would notice. */
  async reportVersion(): Promise<void> {
    const version = decodeVersion(await this.#wire.read('Maintenance/Status', encodeNothing()));
    const because = versionWarning(version);
    if (because === undefined) this.#options.log.info('etcd answers', { version });
    else this.#options.log.warn('etcd should be updated', { version, because });
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#leases.close();
    this.#wire.close();
    this.#clients.close();
  }
}

const DEFAULTS = {
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
  callDeadlineMs: 3_000,
  settleWithinMs: 5_000,
  pageSize: 500,
  livenessMs: 2_000,
  compareEveryMs: 300_000,
};
