import { connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';

const PIECE_BYTES = 16 * 1024;
const PIECE_MS = 100;

/** A line to a port of loopback on which answers trickle, piece by piece, until it is `isFast`. */
export class SlowLine {
  isFast = false;
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();

  constructor(target: number) {
    this.#listener = createServer(client => this.#carry(client, connect(target, '127.0.0.1')));
  }

  /** Listens on this port. */
  async listen(port: number): Promise<void> {
    await new Promise<void>(resolve => this.#listener.listen(port, '127.0.0.1', resolve));
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#listener.close();
  }

  #carry(client: Socket, server: Socket): void {
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
    client.pipe(server);
    server.pipe(this.#createTrickle()).pipe(client);
  }

  #createTrickle(): Transform {
    const trickle = async (stream: Transform, chunk: Buffer) => {
      for (let from = 0; from < chunk.length; from += PIECE_BYTES) {
        stream.push(chunk.subarray(from, from + PIECE_BYTES));
        if (!this.isFast) await pause(PIECE_MS);
      }
    };
    return new Transform({
      transform(chunk: Buffer, _, done) {
        trickle(this, chunk).then(() => done(), done);
      },
    });
  }
}
