import http2, { type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import net from 'node:net';
import tls from 'node:tls';

import type { Clock } from '../../clock/index.js';
import { StoreUnavailableFault } from '../faults.js';
import { AnswerLostFault, grpcStatus, RequestNotTakenFault, toFault, unframe, Unframer } from './grpc.js';

/** Certificates in PEM, for https endpoints. */
export interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export interface EtcdConnectionOptions {
  readonly endpoint: string;
  readonly tls: TlsMaterial;
  readonly clock: Clock;
  readonly connectWithinMs: number;
}

/** Receives what etcd sends on a stream. */
export interface MessageHandler {
  onMessage(message: Buffer): void;
  /** Nothing more will come. Called once. */
  onEnd(cause: Error | undefined): void;
}

/** A stream of messages in both directions. */
export interface MessageStream {
  send(frame: Buffer): void;
  close(): void;
}

const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = http2.constants;

/** etcd closes connections that ping more often. */
const PING_EVERY_MS = 5_000;
const PING_ANSWERED_WITHIN_MS = 2_000;

/** A page of a list is larger than HTTP/2's default windows and would wait for window updates. */
const STREAM_WINDOW = 8 << 20;
const SESSION_WINDOW = 64 << 20;

/** One connection to one etcd member: gRPC calls and streams, as bytes, over `node:http2` (ADR 19). */
export class EtcdConnection {
  readonly #session: ClientHttp2Session;
  readonly #socket: net.Socket;
  readonly #clock: Clock;
  #pingedAt: number;

  private constructor(session: ClientHttp2Session, socket: net.Socket, clock: Clock) {
    this.#session = session;
    this.#socket = socket;
    this.#clock = clock;
    this.#pingedAt = clock.monotonic();
  }

  /** Resolves when the server's SETTINGS arrive: an accepted TCP connection alone proves nothing. */
  static open({ endpoint, tls: material, clock, connectWithinMs }: EtcdConnectionOptions): Promise<EtcdConnection> {
    const socket = dialSocket(new URL(endpoint), material);
    const session = http2.connect(endpoint, {
      createConnection: () => socket,
      settings: { initialWindowSize: STREAM_WINDOW, enablePush: false },
    });
    return new Promise((resolve, reject) => {
      const fail = (cause?: Error) => {
        cancel();
        session.destroy();
        reject(new StoreUnavailableFault(`etcd at ${endpoint} cannot be reached`, { cause }));
      };
      const cancel = clock.after(connectWithinMs, fail);
      session.on('error', fail); // after connecting, every open call gets its own error
      session.once('close', fail);
      session.once('connect', () => {
        if (!session.destroyed) session.setLocalWindowSize(SESSION_WINDOW); // it may have broken in the same turn
      });
      session.once('remoteSettings', () => {
        cancel();
        resolve(new EtcdConnection(session, socket, clock));
      });
    });
  }

  /** Whether a new call may be made. */
  get usable(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /**
   * Makes a call and gives the message of the answer. `frame` is the request with its gRPC header. It throws a
   * `StoreUnavailableFault` when the request cannot have been carried out, and an `AnswerLostFault` when it may have been.
   */
  call(path: string, frame: Buffer, deadlineMs: number): Promise<Buffer> {
    this.#pingNowAndThen();
    const received = this.#socket.bytesRead;
    return new Promise((resolve, reject) => {
      const stream = this.#request(path, deadlineMs);
      const answer = new Answer(stream);
      const settle = () => {
        cancel();
        const outcome = answer.outcome();
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      };
      const cancel = this.#clock.after(deadlineMs, () => {
        reject(new AnswerLostFault('etcd did not answer in time'));
        stream.close(NGHTTP2_CANCEL);
        this.#endIfSilent(received); // the next call must not wait for a dead connection too
      });
      stream.once('end', () => answer.isWhole && settle()); // the stream's close comes a turn of the event loop later
      stream.once('close', settle);
      stream.end(frame);
    });
  }

  /** Opens a stream. Whatever ends it, including a message that cannot be decoded, is reported as its end. */
  openStream(path: string, handler: MessageHandler): MessageStream {
    const stream = this.#request(path);
    const frames = new Unframer();
    let isOpen = true;
    let cause: Error | undefined;
    const end = () => {
      if (isOpen) handler.onEnd(cause);
      isOpen = false;
    };
    const close = () => {
      isOpen = false;
      stream.close(NGHTTP2_CANCEL);
    };
    stream.on('error', (error: Error) => {
      cause ??= error; // its close follows
    });
    const note = ({ 'grpc-status': status, 'grpc-message': message }: IncomingHttpHeaders) => {
      if (status !== undefined) cause ??= toFault(Number(status), String(message));
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('end', () => stream.close(NGHTTP2_CANCEL));
    stream.once('close', end);
    stream.on('data', (chunk: Buffer) => {
      if (!isOpen) return;
      try {
        for (const message of frames.take(chunk)) handler.onMessage(message);
      } catch (thrown) {
        if (!(thrown instanceof RangeError)) throw thrown;
        cause ??= thrown;
        end();
        close();
      }
    });
    return {
      send: frame => {
        if (!stream.closed && !stream.destroyed) stream.write(frame);
      },
      close,
    };
  }

  /** Lets the calls under way finish, and takes no more. */
  retire(): void {
    if (this.usable) this.#session.close();
  }

  /** Ends the socket too: a session that is closing already would wait for a peer that may be frozen. */
  close(): void {
    this.#session.destroy();
    this.#socket.destroy();
  }

  #request(path: string, timeoutMs?: number): ClientHttp2Stream {
    try {
      return this.#session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        hasleader: 'true', // a member that is cut off from the others says so at once
        ...(timeoutMs === undefined ? {} : { 'grpc-timeout': `${Math.ceil(timeoutMs)}m` }),
      });
    } catch (cause) {
      throw new StoreUnavailableFault('the connection to etcd has ended', { cause });
    }
  }

  /** Pings are sent only beside calls: etcd also closes connections that ping while idle. */
  #pingNowAndThen(): void {
    const now = this.#clock.monotonic();
    if (now - this.#pingedAt < PING_EVERY_MS || !this.usable) return;
    this.#pingedAt = now;
    const received = this.#socket.bytesRead;
    const cancel = this.#clock.after(PING_ANSWERED_WITHIN_MS, () => this.#endIfSilent(received));
    this.#session.ping(cancel);
  }

  /** Ends a connection on which not one byte has arrived since. Bytes that wait to be read are read first. */
  #endIfSilent(received: number): void {
    setImmediate(() => {
      if (this.#socket.bytesRead === received) this.close();
    });
  }
}

/** Collects the answer to one call. */
class Answer {
  readonly #stream: ClientHttp2Stream;
  readonly #chunks: Buffer[] = [];
  #status: number | undefined;
  #message = '';
  #hasEnded = false;
  #cause: Error | undefined;

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream;
    const note = (headers: IncomingHttpHeaders) => this.#note(headers);
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    stream.on('end', () => {
      this.#hasEnded = true;
    });
    stream.on('error', (error: Error) => {
      this.#cause = error;
    });
  }

  get isWhole(): boolean {
    return this.#hasEnded && this.#status !== undefined;
  }

  /** The message of the answer, or the meaning of its end. */
  outcome(): Buffer | Error {
    const { id, rstCode } = this.#stream;
    if (this.#status === undefined || !this.#hasEnded) {
      const isUntouched = rstCode === NGHTTP2_REFUSED_STREAM || id === undefined; // GOAWAY refuses, too
      if (isUntouched) return new RequestNotTakenFault('etcd did not take the request', { cause: this.#cause });
      return new AnswerLostFault('the connection to etcd broke before the answer', { cause: this.#cause });
    }
    if (this.#status !== grpcStatus.ok) return toFault(this.#status, this.#message);
    return unframe(this.#chunks) ?? new AnswerLostFault('the answer of etcd is not whole');
  }

  #note(headers: IncomingHttpHeaders): void {
    const status = headers['grpc-status'] as string | undefined;
    if (status !== undefined) this.#status = /^\d+$/.test(status) ? Number(status) : Number.NaN;
    this.#message = (headers['grpc-message'] as string | undefined) ?? this.#message;
  }
}

function dialSocket(url: URL, material: TlsMaterial): net.Socket {
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port || (secure ? 443 : 80));
  const socket = secure
    ? tls.connect({
        host,
        port,
        ALPNProtocols: ['h2'],
        ...(net.isIP(host) ? {} : { servername: host }),
        ...material,
      })
    : net.connect({ host, port });
  return socket.setNoDelay(true);
}
