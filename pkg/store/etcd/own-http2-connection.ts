import type net from 'node:net';

import type { Clock } from '../../clock/index.js';
import { Http2Connection, encodeHeaders, type HeaderField, Http2Fault, type StreamEnd } from '../../http2/index.js';
import { StoreUnavailableFault } from '../faults.js';
import {
  dialSocket,
  type EtcdConnection,
  type EtcdConnectionOptions,
  type MessageHandler,
  type MessageStream,
} from './etcd-connection.js';
import { AnswerLostFault, toFault, grpcStatus, unframe, Unframer } from './grpc.js';

/** etcd punishes pings that come more often. */
const PING_EVERY_MS = 5_000;
const PING_ANSWERED_WITHIN_MS = 2_000;

/** A page of a list is larger than HTTP/2's default windows, and would wait for them to be widened. */
const WINDOWS = { stream: 8 << 20, connection: 64 << 20 };

/** One connection to one etcd member. */
export class OwnHttp2Connection implements EtcdConnection {
  readonly #connection: Http2Connection;
  readonly #socket: net.Socket;
  readonly #clock: Clock;
  readonly #endpoint: URL;
  /** Headers are the same for every call of a method. */
  readonly #headers = new Map<string, Buffer>();
  #pingedAt: number;

  private constructor(connection: Http2Connection, socket: net.Socket, { endpoint, clock }: EtcdConnectionOptions) {
    this.#connection = connection;
    this.#socket = socket;
    this.#clock = clock;
    this.#endpoint = new URL(endpoint);
    this.#pingedAt = clock.monotonic();
  }

  /** Resolves when the other side has shown that it speaks HTTP/2: an accepted connection alone proves nothing. */
  static open(options: EtcdConnectionOptions): Promise<OwnHttp2Connection> {
    const { endpoint, tls: material, clock, connectWithinMs } = options;
    return new Promise((resolve, reject) => {
      const socket = dialSocket(new URL(endpoint), material);
      const connection = new Http2Connection(socket, WINDOWS, {
        onReady: () => {
          cancel();
          resolve(new OwnHttp2Connection(connection, socket, options));
        },
        onClose: cause => {
          cancel();
          reject(new StoreUnavailableFault(`etcd at ${endpoint} cannot be reached`, { cause }));
        },
      });
      const cancel = clock.after(connectWithinMs, () => connection.destroy());
    });
  }

  /** Whether a new call may be made. */
  get usable(): boolean {
    return this.#connection.usable;
  }

  /**
   * Makes a call and gives the message of the answer. It throws a `StoreUnavailableFault` when the request cannot have
   * been carried out, and an `AnswerLostFault` when it may have been.
   */
  call(path: string, frame: Buffer, deadlineMs: number): Promise<Buffer> {
    this.#pingNowAndThen();
    const heard = this.#socket.bytesRead;
    return new Promise((resolve, reject) => {
      const answer = new Answer();
      const headers = this.#headersTo(path, Math.ceil(deadlineMs));
      const stream = this.#request(headers, frame, {
        onHeaders: fields => answer.note(fields),
        onData: bytes => answer.chunks.push(bytes),
        onEnd: end => {
          cancel();
          const outcome = answer.after(end);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
      });
      const cancel = this.#clock.after(deadlineMs, () => {
        stream.cancel();
        reject(new AnswerLostFault('etcd did not answer in time'));
        this.#endIfSilent(heard); // the next call must not wait for a dead connection too
      });
    });
  }

  /** Opens a stream. Whatever ends it, also an answer that cannot be read, is told as its end. */
  openStream(path: string, handler: MessageHandler): MessageStream {
    const frames = new Unframer();
    const answer = new Answer();
    const stream = this.#request(this.#headersTo(path), undefined, {
      onHeaders: fields => answer.note(fields),
      onData: chunk => {
        try {
          for (const message of frames.take(chunk)) handler.onMessage(message);
        } catch (thrown) {
          if (!(thrown instanceof RangeError)) throw thrown;
          stream.cancel();
          handler.onEnd(thrown);
        }
      },
      onEnd: end => handler.onEnd(answer.status === undefined ? causeOf(end) : toFault(answer.status, answer.message)),
    });
    return { send: bytes => stream.write(bytes), close: () => stream.cancel() };
  }

  /** Lets the calls under way finish, and takes no more. */
  retire(): void {
    this.#connection.retire();
  }

  close(): void {
    this.#connection.destroy();
  }

  #request(headers: Buffer, frame: Buffer | undefined, handler: Parameters<Http2Connection['request']>[1]) {
    try {
      return this.#connection.request(headers, handler, frame);
    } catch (cause) {
      if (!(cause instanceof Http2Fault)) throw cause;
      throw new StoreUnavailableFault('the connection to etcd has ended', { cause });
    }
  }

  #headersTo(path: string, timeoutMs?: number): Buffer {
    const key = `${path} ${timeoutMs}`;
    const known = this.#headers.get(key);
    if (known) return known;
    const headers = encodeHeaders([
      { name: ':method', value: 'POST' },
      { name: ':scheme', value: this.#endpoint.protocol.replace(':', '') },
      { name: ':authority', value: this.#endpoint.host },
      { name: ':path', value: path },
      { name: 'content-type', value: 'application/grpc' },
      { name: 'te', value: 'trailers' },
      { name: 'hasleader', value: 'true' }, // a member that is cut off from the others says so at once
      ...(timeoutMs === undefined ? [] : [{ name: 'grpc-timeout', value: `${timeoutMs}m` }]),
    ]);
    this.#headers.set(key, headers);
    return headers;
  }

  /** Pings are sent only beside calls: etcd also punishes pings on a connection that is not used. */
  #pingNowAndThen(): void {
    const now = this.#clock.monotonic();
    if (now - this.#pingedAt < PING_EVERY_MS || !this.usable) return;
    this.#pingedAt = now;
    const heard = this.#socket.bytesRead;
    const cancel = this.#clock.after(PING_ANSWERED_WITHIN_MS, () => this.#endIfSilent(heard));
    this.#connection.ping(cancel);
  }

  /** Ends a connection on which not one byte has come since. What has come and was not read yet is read first. */
  #endIfSilent(heard: number): void {
    setImmediate(() => {
      if (this.#socket.bytesRead === heard) this.#connection.destroy();
    });
  }
}

/** What has come of an answer. */
class Answer {
  readonly chunks: Buffer[] = [];
  status: number | undefined;
  message = '';

  note(fields: readonly HeaderField[]): void {
    for (const { name, value } of fields) {
      if (name === 'grpc-status') this.status = /^\d+$/.test(value) ? Number(value) : Number.NaN;
      else if (name === 'grpc-message') this.message = value;
    }
  }

  /** The message of the answer, or what its end means. */
  after(end: StreamEnd): Buffer | Error {
    if (end.outcome === 'refused') return new StoreUnavailableFault('etcd did not take the request', end);
    if (end.outcome === 'broke') return new AnswerLostFault('the connection to etcd broke before the answer', end);
    if (this.status !== undefined && this.status !== grpcStatus.ok) return toFault(this.status, this.message);
    const message = this.status === undefined ? undefined : unframe(this.chunks);
    return message ?? new AnswerLostFault('the answer of etcd is not whole');
  }
}

function causeOf(end: StreamEnd): Error | undefined {
  return end.outcome === 'finished' ? undefined : end.cause;
}
