import { execFileSync } from 'node:child_process';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What becomes of bytes: carried on, swallowed, kept back from the server until `release`, or the connection not
 * accepted at all.
 */
export type ProxyMode = 'pass' | 'blackhole' | 'hold' | 'refuse';

/** Where a connection is carried to. */
export interface ProxyTarget {
  readonly host: string;
  readonly port: number;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** What the client sent and the server has not got yet. It is delivered even when the client has gone. */
  readonly held: Buffer[];
  /** Neither side hears anything more, and neither is told. */
  isForgotten: boolean;
}

/**
 * A TCP proxy on loopback that fails on command, to test how the programs on both sides handle it.
 */
export class TcpProxy {
  readonly #target: () => ProxyTarget;
  readonly #pairs = new Set<Pair>();
  #listener: Server | undefined;
  #port = 0;

  /** How bytes are treated from now on, on open connections too. */
  mode: ProxyMode = 'pass';
  /**
   * Looks at each piece of the server's answer before the client gets it. It says whether to hand the piece on, or which
   * part of it; it may cut the connection instead.
   */
  onServerData: ((data: Buffer, connection: number) => boolean | Buffer) | undefined;

  private constructor(target: () => ProxyTarget) {
    this.#target = target;
  }

  /** Listens on a free port and carries everything to a port of loopback, or to what `target` names for each connection. */
  static async start(target: number | (() => ProxyTarget)): Promise<TcpProxy> {
    const proxy = new TcpProxy(typeof target === 'number' ? () => ({ host: '127.0.0.1', port: target }) : target);
    await proxy.#listen();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** Breaks every open connection, on both sides. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
    this.#pairs.clear();
  }

  /** Lets every open connection go silent for good, as a network does that was away for long. New ones are carried. */
  forget(): void {
    for (const pair of this.#pairs) pair.isForgotten = true;
  }

  /**
   * The kernel drops every packet to the proxy (`in`), or from it to its clients (`out`), until the function that is given is
   * called: the other way they pass. Needs root and iptables.
   */
  dropOneWay(way: 'in' | 'out'): () => void {
    const port = way === 'in' ? '--dport' : '--sport';
    const rule = ['INPUT', '-i', 'lo', '-p', 'tcp', port, String(this.#port), '-j', 'DROP'];
    const change = (what: '-I' | '-D') => execFileSync('iptables', ['-w', what, ...rule], { stdio: 'pipe' });
    change('-I');
    let isDropping = true;
    return () => {
      if (isDropping) change('-D');
      isDropping = false;
    };
  }

  /** Delivers what was held back. */
  release(): void {
    for (const { server, held } of this.#pairs) for (const data of held.splice(0)) server.write(data);
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise<void>(resolve => {
      if (this.#listener) this.#listener.close(() => resolve());
      else resolve();
    });
  }

  #listen(): Promise<void> {
    let connections = 0;
    const listener = createServer(client => this.#carry(client, ++connections));
    this.#listener = listener;
    return new Promise((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(0, '127.0.0.1', () => {
        const address = listener.address();
        this.#port = typeof address === 'object' && address ? address.port : 0;
        resolve();
      });
    });
  }

  #carry(client: Socket, connection: number): void {
    if (this.mode === 'refuse') {
      client.destroy();
      return;
    }
    const server = connect(this.#target());
    const pair: Pair = { client, server, held: [], isForgotten: false };
    this.#pairs.add(pair);

    client.on('data', data => {
      if (pair.isForgotten) return;
      if (this.mode === 'hold' || pair.held.length > 0) pair.held.push(data);
      else if (this.mode !== 'blackhole') server.write(data);
    });
    server.on('data', data => {
      if (this.mode === 'blackhole' || pair.isForgotten) return;
      const part = this.onServerData?.(data, connection) ?? true;
      if (part !== false) client.write(part === true ? data : part);
    });
    const end = () => {
      client.destroy();
      if (pair.held.length > 0 && !server.destroyed) return;
      this.#pairs.delete(pair);
      server.destroy();
    };
    for (const socket of [client, server]) {
      socket.on('error', end);
      socket.on('close', end);
    }
  }
}
