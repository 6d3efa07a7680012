import net from 'node:net';
import tls from 'node:tls';

import type { Clock } from '../../clock/index.js';

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

/** Hears what etcd says on a stream. */
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

/** One connection to one etcd member: what group commit, reads, leases and the watch need of gRPC, as bytes. */
export interface EtcdConnection {
  /** Whether a new call may be made. */
  readonly usable: boolean;
  /**
   * Makes a call and gives the message of the answer. `frame` is the request with its gRPC header. It throws a
   * `StoreUnavailableFault` when the request cannot have been carried out, and an `AnswerLostFault` when it may have been.
   */
  call(path: string, frame: Buffer, deadlineMs: number): Promise<Buffer>;
  /** Opens a stream. Whatever ends it, including a message that cannot be decoded, is reported as its end. */
  openStream(path: string, handler: MessageHandler): MessageStream;
  /** Lets the calls under way finish, and takes no more. */
  retire(): void;
  close(): void;
}

export function dialSocket(url: URL, material: TlsMaterial): net.Socket {
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
