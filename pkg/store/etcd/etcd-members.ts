import { keys } from '../../../crds/keys/index.js';
import type { Clock } from '../../clock/index.js';
import { StoreUnavailableFault } from '../faults.js';
import type { StoreMember } from '../store.js';
import {
  type ClusterMember,
  decodeMembers,
  decodeStatus,
  encodeDisarm,
  type StatusResponse,
} from './cluster-messages.js';
import type { EtcdClient } from './etcd-client.js';
import { EtcdConnection, type TlsMaterial } from './etcd-connection.js';
import { encodeNothing, encodeRange } from './messages.js';

export interface EtcdMembersOptions {
  /** Where in etcd everything is kept. */
  readonly root: string;
  readonly client: EtcdClient;
  readonly endpoints: readonly string[];
  readonly tls: () => TlsMaterial;
  readonly clock: Clock;
}

type SeenMember = StatusResponse & { readonly reads: boolean };

const CONNECT_WITHIN_MS = 1_000;
/** A member reports its status also while it is defragmented, and reads nothing until that has ended. */
const ANSWER_WITHIN_MS = 1_000;
/** A member rewrites all that it keeps: 8 GiB, the most that etcd advises, at 20 MB a second. */
const DEFRAGMENT_WITHIN_MS = 400_000;
/** Under load there is always something that is agreed on and not yet carried out. */
const MAY_LAG = 1_000;

/**
 * The members of etcd, each asked by itself: what one is asked to do must not be done by another, so nothing here fails over.
 * Each has connections of its own, so that one that is silent for minutes delays nothing else.
 */
export class EtcdMembers {
  readonly #options: EtcdMembersOptions;
  readonly #connections = new Map<string, EtcdConnection>();
  #isClosed = false;

  constructor(options: EtcdMembersOptions) {
    this.#options = options;
  }

  /** All members, with what each says of itself; without that where it cannot be reached. */
  async list(): Promise<readonly StoreMember[]> {
    const { client, endpoints } = this.#options;
    const members = decodeMembers(await client.callRetrying('Cluster/MemberList', encodeNothing()));
    // A name that is configured may stand for all of them, and one that a member advertises may be known to the others only.
    const seen = new Map(await Promise.all(endpoints.map(endpoint => this.#statusOf(endpoint))));
    const missing = members.filter(({ id }) => ![...seen.values()].some(status => status?.id === id));
    const advertised = new Set(missing.flatMap(({ clientUrls }) => clientUrls).filter(url => !seen.has(url)));
    for (const [endpoint, status] of await Promise.all([...advertised].map(url => this.#statusOf(url))))
      seen.set(endpoint, status);
    return members.map(member => toStoreMember(member, seen));
  }

  /** Lets a member rewrite its file, without what is free in it. Until then it answers no request. */
  async defragment({ endpoint }: StoreMember): Promise<void> {
    if (endpoint === undefined) throw new StoreUnavailableFault('the member of etcd cannot be reached');
    const connection = await this.#open(endpoint); // the other one is given up when a status does not come in time
    try {
      await connection.call('/etcdserverpb.Maintenance/Defragment', encodeNothing(), DEFRAGMENT_WITHIN_MS);
    } finally {
      connection.close();
    }
  }

  /** Takes back the alarm NOSPACE of every member, and no other alarm. */
  async disarm(): Promise<void> {
    for (const { id } of await this.list())
      await this.#options.client.callRetrying('Maintenance/Alarm', encodeDisarm(id));
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections.values()) connection.close();
  }

  async #statusOf(endpoint: string): Promise<readonly [endpoint: string, seen: SeenMember | undefined]> {
    try {
      const connection = await this.#connect(endpoint);
      const key = `${this.#options.root}${keys.barrier()}`;
      const read = connection.call('/etcdserverpb.KV/Range', encodeRange({ key, own: true }), ANSWER_WITHIN_MS);
      const reads = read.then(
        () => true,
        () => false,
      );
      const answer = await connection.call('/etcdserverpb.Maintenance/Status', encodeNothing(), ANSWER_WITHIN_MS);
      return [endpoint, { ...decodeStatus(answer), reads: await reads }];
    } catch {
      return [endpoint, undefined];
    }
  }

  async #connect(endpoint: string): Promise<EtcdConnection> {
    const known = this.#connections.get(endpoint);
    if (known?.usable) return known;
    const connection = await this.#open(endpoint);
    this.#connections.set(endpoint, connection);
    if (this.#isClosed) connection.close();
    return connection;
  }

  #open(endpoint: string): Promise<EtcdConnection> {
    const { tls, clock } = this.#options;
    return EtcdConnection.open({ endpoint, tls: tls(), clock, connectWithinMs: CONNECT_WITHIN_MS });
  }
}

function toStoreMember({ id, name }: ClusterMember, seen: ReadonlyMap<string, SeenMember | undefined>): StoreMember {
  for (const [endpoint, status] of seen) {
    if (status?.id !== id) continue;
    const { reads, leaderId, appliedIndex, raftIndex, databaseBytes, usedBytes } = status;
    const isReady = reads && leaderId !== '0' && raftIndex - appliedIndex <= MAY_LAG;
    return { id, name, endpoint, isLeader: leaderId === id, isReady, databaseBytes, usedBytes };
  }
  return { id, name, isLeader: false, isReady: false, databaseBytes: 0, usedBytes: 0 };
}
