import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { until } from '../../dev/testing/index.js';

/** A connection that sends what no HTTP client would, and keeps what comes back. */
export class RawConnection {
  received = '';
  isClosed = false;
  readonly #socket: Socket;

  private constructor(socket: Socket, isReading: boolean) {
    this.#socket = socket.setEncoding('latin1');
    if (isReading) socket.on('data', (piece: string) => (this.received += piece));
    socket.on('error', () => undefined).once('close', () => (this.isClosed = true));
  }

  /** `isReading: false`: a client that sends and never reads. */
  static async open(port: number, { isReading = true } = {}): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1');
    const connection = new RawConnection(socket, isReading);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    return connection;
  }

  send(text: string): void {
    this.#socket.write(text);
  }

  /** How many answers have begun. */
  get answers(): readonly number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  async answered(count = 1): Promise<readonly number[]> {
    await until(`${count} answers`, () => this.answers.length >= count);
    return this.answers;
  }

  closed(): Promise<boolean> {
    return until('the server to close the connection', () => this.isClosed);
  }

  /** Sends a little again and again, so that the connection is never idle, until the server closes it. */
  closedWhileSending(text: string): Promise<boolean> {
    return until('the server to close a connection that is not idle', () => {
      if (!this.isClosed) this.send(text);
      return this.isClosed;
    });
  }

  close(): void {
    this.#socket.resetAndDestroy();
  }
}

/** The text of a request without a body, or of the head of one with a body. */
export function requestText(
  method: string,
  path: string,
  headers: Readonly<Record<string, string | number>> = {},
): string {
  const fields = Object.entries({ Host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${fields.join('')}\r\n`;
}
