import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A link to an agent that breaks when so many bytes have passed towards it. */
export class CutLink {
  /** After how many bytes each next connection breaks; those after the last do not. */
  readonly cuts: number[] = [];
  /** How many bytes have passed towards the agent, by connection. */
  readonly passed: number[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.#server = createServer(near => this.#join(near, connect(port, '127.0.0.1')));
  }

  static async to(address: string): Promise<CutLink> {
    const link = new CutLink(Number(address.split(':').at(-1)));
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(near: Socket, far: Socket): void {
    const at = this.passed.push(0) - 1;
    const limit = this.cuts.shift() ?? Infinity;
    const end = () => [near, far].forEach(socket => socket.destroy());
    for (const socket of [near, far]) this.#sockets.add(socket.on('error', end).on('close', end));
    far.pipe(near);
    near.on('data', (bytes: Buffer) => {
      this.passed[at]! += bytes.length;
      if (this.passed[at]! >= limit) return end();
      if (far.write(bytes)) return;
      near.pause();
      far.once('drain', () => near.resume());
    });
  }
}
