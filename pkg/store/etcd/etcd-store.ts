import isOlder from 'semver/functions/lt.js';
import parseVersion from 'semver/functions/parse.js';

import { type Clock, type Random, systemClock, systemRandom } from '../../clock/index.js';
import { type Logger, silentLogger } from '../../log/index.js';
import { checkChange } from '../change.js';
import type { Entry, Revision } from '../entry.js';
import type {
  Change,
  FollowOptions,
  Lease,
  Listing,
  ListingPage,
  PageOptions,
  Put,
  Store,
  StoreHealth,
  StoreMember,
  Verdict,
  WatchHandler,
} from '../store.js';
import { EtcdClient } from './etcd-client.js';
import type { TlsMaterial } from './etcd-connection.js';
import { EtcdFollow } from './etcd-follow.js';
import { EtcdMembers } from './etcd-members.js';
import { EtcdReads } from './etcd-reads.js';
import { EtcdWrites } from './etcd-writes.js';
import { readHistory } from './watch-stream.js';
import { Leases } from './leases.js';
import { OutOfRangeFault } from './grpc.js';
import {
  decodeAlarms,
  decodeMembers,
  decodeStatus,
  type ClusterMember,
  type StatusResponse,
} from './cluster-messages.js';
import { encodeCompaction, encodeNothing } from './messages.js';

export interface EtcdStoreOptions {
  readonly endpoints: readonly string[];
  /** Where in etcd everything is kept; ends in `/`. */
  readonly prefix: string;
  /** As a function it is asked before each connection, so that certificates can be replaced. */
  readonly tls?: TlsMaterial | (() => TlsMaterial);
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

/** A member of etcd, and the cluster as it knows it. */
export interface EtcdInspection extends StoreHealth {
  readonly version: string;
  readonly members: readonly ClusterMember[];
}

/**
 * The store in etcd.
 *
 * Reads, writes, leases and the watch all go through one `EtcdClient`, with the same deadlines and the same failover.
 */
export class EtcdStore implements Store {
  readonly #options: Required<Omit<EtcdStoreOptions, 'tls'>>;
  readonly #client: EtcdClient;
  readonly #reads: EtcdReads;
  readonly #writes: EtcdWrites;
  readonly #leases: Leases;
  readonly #members: EtcdMembers;
  readonly #closed = new AbortController();

  constructor({ tls = {}, ...given }: EtcdStoreOptions) {
    const options = { ...DEFAULTS, ...given };
    const { clock, random, prefix: root } = options;
    this.#options = options;
    const certificates = { tls: typeof tls === 'function' ? tls : () => tls };
    this.#client = new EtcdClient({ ...options, ...certificates });
    this.#members = new EtcdMembers({ ...options, ...certificates, root, client: this.#client });
    this.#reads = new EtcdReads(this.#client, root, options.pageSize);
    this.#leases = new Leases(this.#client);
    this.#writes = new EtcdWrites({
      client: this.#client,
      reads: this.#reads,
      root,
      clock,
      random,
      settleWithinMs: options.settleWithinMs,
      grant: ttlSeconds => this.#leases.grant(ttlSeconds),
      history: (after, until) =>
        readHistory(
          {
            client: this.#client,
            clock,
            log: options.log,
            root,
            clusterId: () => this.#reads.clusterId(),
            currentRevision: () => this.#reads.revision(),
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

  page(prefix: string, options: PageOptions): Promise<ListingPage> {
    return this.#reads.page(prefix, options);
  }

  revision(): Promise<Revision> {
    return this.#reads.revision();
  }

  async commit(change: Change): Promise<Verdict> {
    checkChange(change);
    return this.#writes.commit(change);
  }

  follow(handler: WatchHandler, options: FollowOptions, signal: AbortSignal): Promise<void> {
    const follow = new EtcdFollow(
      { ...this.#options, client: this.#client, reads: this.#reads, root: this.#options.prefix },
      handler,
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
    const { version } = await this.#status();
    const because = checkEtcdVersion(version);
    if (because === undefined) this.#options.log.info('connected to etcd', { version });
    else this.#options.log.warn('etcd should be updated', { version, because });
  }

  /** The size of the largest file, since each member has a quota of its own, and the alarms of all. */
  async health(): Promise<StoreHealth> {
    const reached = (await this.#members.list()).filter(({ endpoint }) => endpoint !== undefined);
    const largest = reached.toSorted((a, b) => b.databaseBytes - a.databaseBytes)[0] ?? (await this.#status());
    const { databaseBytes, usedBytes } = largest;
    return { databaseBytes, usedBytes, alarms: await this.#alarms() };
  }

  /** What the member that answers says of itself and of the others. */
  async inspect(): Promise<EtcdInspection> {
    const { version, databaseBytes, usedBytes } = await this.#status();
    const members = decodeMembers(await this.#client.callRetrying('Cluster/MemberList', encodeNothing()));
    return { version, members, databaseBytes, usedBytes, alarms: await this.#alarms() };
  }

  /** Every member, also one that cannot be reached. */
  members(): Promise<readonly StoreMember[]> {
    return this.#members.list();
  }

  /** Lets one member give back the free room in its file. It answers no request meanwhile. */
  defragment(member: StoreMember): Promise<void> {
    return this.#members.defragment(member);
  }

  /** Takes the alarm NOSPACE back. One whose file is at the quota raises it again with the next write. */
  disarm(): Promise<void> {
    return this.#members.disarm();
  }

  /** As `commit` of one put, guarded by its last revision, but taken under the alarm NOSPACE too. Undefined when it was not made. */
  putUncounted(put: Put, at: Revision): Promise<Revision | undefined> {
    return this.#writes.putUncounted(put, at);
  }

  /** Forgets history before a revision. One that is forgotten already is no failure. */
  async compact(revision: Revision): Promise<void> {
    try {
      await this.#client.callRetrying('KV/Compact', encodeCompaction(revision));
    } catch (thrown) {
      if (!(thrown instanceof OutOfRangeFault)) throw thrown;
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#members.close();
    this.#client.close();
  }

  async #status(): Promise<StatusResponse> {
    return decodeStatus(await this.#client.callRetrying('Maintenance/Status', encodeNothing()));
  }

  async #alarms(): Promise<readonly string[]> {
    return decodeAlarms(await this.#client.callRetrying('Maintenance/Alarm', encodeNothing()));
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

/** For each old release line, the release that fixed a defect we would notice. */
const DEFECTS: readonly { readonly releaseLine: string; readonly before: string; readonly defect: string }[] = [
  { releaseLine: '3.4', before: '3.4.25', defect: 'a watch can go back in time after a snapshot' },
  { releaseLine: '3.4', before: '3.4.31', defect: 'a watch can lose events when the store is compacted' },
  { releaseLine: '3.4', before: '3.4.36', defect: 'a watch can miss a delete' },
  { releaseLine: '3.4', before: '3.4.38', defect: 'a revoked lease can be reported as extended' },
  { releaseLine: '3.4', before: '3.4.42', defect: 'access rules can be bypassed (CVE-2026-33413, CVE-2026-33343)' },
  { releaseLine: '3.5', before: '3.5.8', defect: 'progress of a watch can be reported ahead of its events' },
  { releaseLine: '3.5', before: '3.5.13', defect: 'a watch can lose events when the store is compacted' },
];

const OLDEST_SUPPORTED = '3.4.0';

/** What is known to be wrong with a version of etcd, in one sentence; undefined when nothing is. */
export function checkEtcdVersion(version: string): string | undefined {
  if (!parseVersion(version)) return `etcd says that its version is "${version}", which cannot be read`;
  if (isOlder(version, OLDEST_SUPPORTED))
    return `etcd ${version} is older than ${OLDEST_SUPPORTED}, the oldest supported`;
  const known = DEFECTS.filter(
    ({ releaseLine, before }) => version.startsWith(`${releaseLine}.`) && isOlder(version, before),
  );
  if (known.length === 0) return undefined;
  return `etcd ${version} has known defects: ${known.map(({ defect }) => defect).join('; ')}. Use the newest 3.5 or 3.6`;
}
