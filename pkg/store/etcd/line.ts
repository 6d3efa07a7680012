import http2, { type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import net from 'node:net';
import tls from 'node:tls';

import type { Clock } from '../../clock/index.js';
import { StoreUnavailableFault } from '../faults.js';
import { AnswerLostFault, faultOfStatus, unframe, Unframer } from './grpc.js';

/** Certificates in PEM, for https endpoints. */
export interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export interface LineOptions {
  readonly endpoint: string;
  readonly tls: TlsMaterial;
  readonly clock: Clock;
  readonly connectWithinMs: number;
}

const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = http2.constants;

/** etcd punishes pings that come more often. */
const PING_EVERY_MS = 5_000;
const PING_ANSWERED_WITHIN_MS = 2_000;

/** A page of a list is larger than HTTP/2's default windows, and would wait for them to be widened. */
const STREAM_WINDOW = 8 << 20;
const SESSION_WINDOW = 64 << 20;

/** Hears what etcd says on a stream. */
export interface StreamEars {
  message(message: Buffer): void;
  /** Nothing more will come. Called once. */
  ended(cause: Error | undefined): void;
}

/** A stream of messages in both directions. */
export interface MessageStream {
  say(frame: Buffer): void;
  close(): void;
}

/** One connection to one etcd member. */
export class Line {
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

  /** Resolves when the other side has shown that it speaks HTTP/2: an accepted connection alone proves nothing. */
  static open({ endpoint, tls: material, clock, connectWithinMs }: LineOptions): Promise<Line> {
    const socket = dial(new URL(endpoint), material);
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
      session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW));
      session.once('remoteSettings', () => {
        cancel();
        resolve(new Line(session, socket, clock));
      });
    });
  }

  /** Whether a new call may be made. */
  get usable(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /**
   * Makes a call and gives the message of the answer. It throws a `StoreUnavailableFault` when the request cannot have
   * been carried out, and an `AnswerLostFault` when it may have been.
   */
  call(path: string, frame: Buffer, deadlineMs: number): Promise<Buffer> {
    this.#pingNowAndThen();
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request({ ...headersTo(path), 'grpc-timeout': `${Math.ceil(deadlineMs)}m` });
    } catch (cause) {
      return Promise.reject(new StoreUnavailableFault('the connection to etcd has ended', { cause }));
    }
    const heard = this.#socket.bytesRead;
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(deadlineMs, () => {
        reject(new AnswerLostFault('etcd did not answer in time'));
        // Not one byte since the call began: the connection is dead, and the next call must not wait for it too.
        if (this.#socket.bytesRead === heard) this.#session.destroy();
        else stream.close(NGHTTP2_CANCEL);
      });
      answerOf(stream).then(resolve, reject).finally(cancel);
      stream.end(frame);
    });
  }

  /** Opens a stream. Whatever ends it, also an answer that cannot be read, is told as its end. */
  converse(path: string, ears: StreamEars): MessageStream {
    const stream = this.#session.request(headersTo(path));
    const frames = new Unframer();
    const close = () => stream.close(NGHTTP2_CANCEL);
    let cause: Error | undefined;
    stream.on('error', (error: Error) => {
      cause ??= error; // its close follows
    });
    stream.on('trailers', ({ 'grpc-status': status, 'grpc-message': message }) => {
      cause ??= faultOfStatus(Number(status), String(message));
    });
    stream.on('end', close);
    stream.once('close', () => ears.ended(cause));
    stream.on('data', (chunk: Buffer) => {
      try {
        for (const message of frames.take(chunk)) ears.message(message);
      } catch (thrown) {
        if (!(thrown instanceof RangeError)) throw thrown;
        cause ??= thrown;
        close();
      }
    });
    return {
      say: frame => {
        if (!stream.closed && !stream.destroyed) stream.write(frame);
      },
      close,
    };
  }

  /** Lets the calls under way finish, and takes no more. */
  retire(): void {
    if (this.usable) this.#session.close();
  }

  close(): void {
    this.#session.destroy();
  }

  /** Pings are sent only beside calls: etcd also punishes pings on a connection that is not used. */
  #pingNowAndThen(): void {
    const now = this.#clock.monotonic();
    if (now - this.#pingedAt < PING_EVERY_MS || !this.usable) return;
    this.#pingedAt = now;
    const cancel = this.#clock.after(PING_ANSWERED_WITHIN_MS, () => this.#session.destroy());
    this.#session.ping(cancel);
  }
}

function headersTo(path: string) {
  return {
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    hasleader: 'true', // a member that is cut off from the others says so at once
  };
}

function answerOf(stream: ClientHttp2Stream): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let status: string | undefined;
    let message = '';
    let cause: Error | undefined;
    let answered = false;
    const note = (headers: IncomingHttpHeaders) => {
      status = (headers['grpc-status'] as string | undefined) ?? status;
      message = (headers['grpc-message'] as string | undefined) ?? message;
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', (error: Error) => {
      cause = error;
    });
    stream.on('end', () => {
      if (status === undefined) return undefined; // cut off: the close tells
      answered = true;
      if (status !== '0') return reject(faultOfStatus(Number(status), message));
      const answer = unframe(chunks);
      return answer ? resolve(answer) : reject(new AnswerLostFault('the answer of etcd is not whole'));
    });
    stream.on('close', () => {
      if (answered) return;
      const untouched = stream.rstCode === NGHTTP2_REFUSED_STREAM || stream.id === undefined;
      if (untouched) reject(new StoreUnavailableFault('etcd did not take the request', { cause }));
      else reject(new AnswerLostFault('the connection to etcd broke before the answer', { cause }));
    });
  });
}

function dial(url: URL, material: TlsMaterial): net.Socket {
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
