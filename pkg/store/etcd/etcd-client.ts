import { backoffMs, type Clock, type Random, sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { Logger } from '../../log/index.js';
import { StoreUnavailableFault } from '../faults.js';
import { AnswerLostFault, ExhaustedFault, RequestNotTakenFault } from './grpc.js';
import { EtcdConnection, type TlsMaterial } from './etcd-connection.js';

export interface EtcdClientOptions {
  readonly endpoints: readonly string[];
  /** Asked before each connection, so that certificates can be replaced. */
  readonly tls: () => TlsMaterial;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly callDeadlineMs: number;
}

const CONNECT_WITHIN_MS = 1_000;
const BACKOFF = { firstMs: 20, capMs: 1_000 };
const CALL_ATTEMPTS = 2;

/**
 * Calls to etcd, with deadlines, reconnection and failover: the one way to etcd for reads, writes, leases and watches.
 *
 * There is one connection at a time, to one of the members; when it fails, the next call goes to the next member.
 * Writes are sent once. Calls that may be repeated without harm are sent again when an answer is lost.
 */
export class EtcdClient {
  readonly #options: EtcdClientOptions;
  readonly #closed = new AbortController();
  #connection: EtcdConnection | undefined;
  #connecting: Promise<void> | undefined;
  #nextEndpoint = 0;
  /** Why each member could not be reached when that was last tried, until one can. */
  readonly #unreachable = new Map<string, Error>();

  constructor(options: EtcdClientOptions) {
    this.#options = options;
  }

  /** A connection of its own, for streams: what is silent on one says nothing about the other. Its user closes it. */
  async dial(): Promise<EtcdConnection> {
    const { tls, clock } = this.#options;
    return EtcdConnection.open({ endpoint: this.#next(), tls: tls(), clock, connectWithinMs: CONNECT_WITHIN_MS });
  }

  /** Sends a request that must not be sent twice. */
  async callOnce(method: string, frame: Buffer): Promise<Buffer> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.#connected();
      try {
        return await connection.call(`/etcdserverpb.${method}`, frame, this.#options.callDeadlineMs);
      } catch (thrown) {
        // Another member may do better than one that is slow, ill or without a leader. Several may stand behind one address.
        const isIll = thrown instanceof AnswerLostFault && !(thrown instanceof ExhaustedFault);
        if (isIll || thrown instanceof RequestNotTakenFault) connection.retire();
        if (!(thrown instanceof RequestNotTakenFault) || attempt === CALL_ATTEMPTS) throw thrown;
      }
    }
  }

  /** Sends a request that changes nothing. */
  async callRetrying(method: string, frame: Buffer): Promise<Buffer> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.callOnce(method, frame);
      } catch (thrown) {
        if (!(thrown instanceof AnswerLostFault)) throw thrown;
        if (attempt === CALL_ATTEMPTS) throw new StoreUnavailableFault('etcd does not answer', { cause: thrown });
      }
    }
  }

  close(): void {
    this.#closed.abort();
    this.#connection?.close();
  }

  async #connected(): Promise<EtcdConnection> {
    const { clock, callDeadlineMs } = this.#options;
    if (this.#connection?.usable) return this.#connection;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    const waited = new AbortController();
    await Promise.race([this.#connecting, sleep(clock, callDeadlineMs, waited.signal)]);
    waited.abort();
    if (this.#connection?.usable) return this.#connection;
    throw new StoreUnavailableFault('no member of etcd can be reached', {
      cause: [...this.#unreachable.values()].at(-1),
    });
  }

  #next(): string {
    const { endpoints } = this.#options;
    return endpoints[this.#nextEndpoint++ % endpoints.length]!;
  }

  /** Tries one member after the other until one answers. */
  async #connect(): Promise<void> {
    const { tls, clock, random, log } = this.#options;
    for (let failures = 1; !this.#closed.signal.aborted; failures++) {
      const endpoint = this.#next();
      try {
        this.#connection = await EtcdConnection.open({
          endpoint,
          tls: tls(),
          clock,
          connectWithinMs: CONNECT_WITHIN_MS,
        });
        this.#unreachable.clear();
        if (this.#closed.signal.aborted) this.#connection.close();
        return;
      } catch (thrown) {
        const error = asError(thrown);
        const isNews = findReason(this.#unreachable.get(endpoint)) !== findReason(error);
        this.#unreachable.set(endpoint, error);
        // Once for each member and reason: an outage may last for hours.
        log[isNews ? 'warn' : 'debug']('etcd cannot be reached', { address: endpoint, error });
      }
      await sleep(clock, backoffMs(failures, BACKOFF, random), this.#closed.signal);
    }
  }
}

/** What is at the bottom of an error. */
function findReason(error: Error | undefined): string | undefined {
  return error?.cause instanceof Error ? findReason(error.cause) : error?.message;
}
