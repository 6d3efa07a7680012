import {
  type Change,
  type Entry,
  type WatchHandler,
  type FollowOptions,
  type Lease,
  type Listing,
  type ListingPage,
  OutcomeUnknownFault,
  type PageOptions,
  type Revision,
  type Store,
  StoreUnavailableFault,
  type Verdict,
} from '../../pkg/store/index.js';
import type { SimProcess } from './sim-process.js';
import { type Reconnecting, SimulatedConnection } from './simulated-connection.js';

const unreachable = () => new StoreUnavailableFault('the store cannot be reached');
const reading = { wire: 'store', unreachable, unknown: unreachable } as const;
const writing = { wire: 'store', unreachable, unknown: () => new OutcomeUnknownFault() } as const;

/** The store as one simulated process reaches it: the same server for all, each over a wire of its own. */
export class SimulatedStore implements Store {
  readonly #process: SimProcess;
  readonly #server: Store;
  readonly #reconnecting: Reconnecting;

  constructor(process: SimProcess, server: Store, reconnecting: Reconnecting = 'relist') {
    this.#process = process;
    this.#server = server;
    this.#reconnecting = reconnecting;
  }

  get(key: string): Promise<Entry | undefined> {
    return this.#process.call(`get ${key}`, () => this.#server.get(key), reading);
  }

  list(prefix: string, at?: Revision): Promise<Listing> {
    return this.#process.call(`list ${prefix}`, () => this.#server.list(prefix, at), reading);
  }

  page(prefix: string, options: PageOptions): Promise<ListingPage> {
    return this.#process.call(`page ${prefix}`, () => this.#server.page(prefix, options), reading);
  }

  revision(): Promise<Revision> {
    return this.#process.call('revision', () => this.#server.revision(), reading);
  }

  commit(change: Change): Promise<Verdict> {
    const label = `commit ${change.puts[0]?.key ?? change.deletes[0] ?? ''}`;
    return this.#process.call(label, () => this.#server.commit(change), writing);
  }

  follow(feed: WatchHandler, options: FollowOptions, signal: AbortSignal): Promise<void> {
    const connecting = { ...options, reconnecting: this.#reconnecting };
    return new SimulatedConnection(this.#process, this.#server, feed, connecting).run(signal);
  }

  grant(ttlSeconds: number): Promise<Lease> {
    return this.#process.call('grant', () => this.#server.grant(ttlSeconds), writing);
  }

  keepAlive(leaseId: string): Promise<boolean> {
    return this.#process.call('keep alive', () => this.#server.keepAlive(leaseId), reading);
  }

  revoke(leaseId: string): Promise<void> {
    return this.#process.call('revoke', () => this.#server.revoke(leaseId), reading);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
