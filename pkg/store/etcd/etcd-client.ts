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
/** A member that has not answered by then is still waited for, but the next one is tried beside it. */
const TRY_NEXT_AFTER_MS = 250;
/** After a failure. Short at its longest, so that service resumes soon after a network has healed. */
const BACKOFF = { firstMs: 20, capMs: 250 };
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
  /** Why each member could not be reached, until it can: each reason is logged once. */
  readonly #unreachable = new Map<string, Map<string, Error>>();

  constructor(options: EtcdClientOptions) {
    this.#options = options;
  }

  /** A connection of its own, for streams: what is silent on one says nothing about the other. Its user closes it. */
  async dial(): Promise<EtcdConnection> {
    const { clock, callDeadlineMs } = this.#options;
    const giveUp = new AbortController();
    const cancel = clock.after(callDeadlineMs, () => giveUp.abort());
    const connection = await this.#reach(AbortSignal.any([giveUp.signal, this.#closed.signal]));
    cancel();
    return connection ?? this.#unreached();
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
    return this.#connection?.usable ? this.#connection : this.#unreached();
  }

  #unreached(): never {
    throw new StoreUnavailableFault('no member of etcd can be reached', {
      cause: [...this.#unreachable.values()].flatMap(reasons => [...reasons.values()]).at(-1),
    });
  }

  #next(): string {
    const { endpoints } = this.#options;
    return endpoints[this.#nextEndpoint++ % endpoints.length]!;
  }

  async #connect(): Promise<void> {
    this.#connection = await this.#reach(this.#closed.signal);
    if (this.#closed.signal.aborted) this.#connection?.close();
  }

  /**
   * Tries one member after the other, beside those that have not answered yet, until one answers or `signal` is aborted. So a
   * member that is silent, or was until a moment ago, delays no request.
   */
  async #reach(signal: AbortSignal): Promise<EtcdConnection | undefined> {
    const { clock, random } = this.#options;
    const settled = new AbortController();
    const settle = () => settled.abort();
    signal.addEventListener('abort', settle, { once: true });
    if (signal.aborted) settle();
    let reached: EtcdConnection | undefined;
    for (let failures = 0; !settled.signal.aborted; ) {
      const attempt = this.#open(this.#next()).then(connection => {
        if (settled.signal.aborted) connection?.close();
        else reached = connection;
        if (reached) settle();
        return connection !== undefined;
      });
      const hasFailed = await Promise.race([attempt.then(isOpen => !isOpen), this.#waitForNext(settled.signal)]);
      if (hasFailed) await sleep(clock, backoffMs(++failures, BACKOFF, random), settled.signal);
    }
    signal.removeEventListener('abort', settle);
    return reached;
  }

  async #waitForNext(settled: AbortSignal): Promise<false> {
    await sleep(this.#options.clock, TRY_NEXT_AFTER_MS, settled);
    return false;
  }

  /** Undefined when the member cannot be reached. */
  async #open(endpoint: string): Promise<EtcdConnection | undefined> {
    const { tls, clock, log } = this.#options;
    try {
      const options = { endpoint, tls: tls(), clock, connectWithinMs: CONNECT_WITHIN_MS };
      const connection = await EtcdConnection.open(options);
      this.#unreachable.delete(endpoint);
      return connection;
    } catch (thrown) {
      const error = asError(thrown);
      const reasons = this.#unreachable.get(endpoint) ?? new Map<string, Error>();
      this.#unreachable.set(endpoint, reasons);
      const level = reasons.has(findReason(error)) ? 'debug' : 'warn'; // an outage may last for hours
      reasons.set(findReason(error), error);
      log[level]('etcd cannot be reached', { address: endpoint, error });
      return undefined;
    }
  }
}

/** What is at the bottom of an error. */
function findReason(error: Error): string {
  return error.cause instanceof Error ? findReason(error.cause) : error.message;
}
