import * as net from 'node:net';
import type { Stream } from 'node:stream';

import { findFreePort, isFreePort } from '../programs/index.js';

/** A port of loopback that is bound in this process and accepted from in another one. */
export interface HeldSocket {
  readonly port: number;
  /** To be handed to the other process. Undefined where Node cannot hold a socket: then the other process binds the port itself. */
  readonly handle: Stream | undefined;
}

interface TcpHandle {
  getsockname(out: { port?: number }): number;
  close(): void;
}

/**
 * Binds without accepting. Node has no documented way: a `Server` accepts as soon as it listens, and connections that
 * this process accepts are lost to the other. The cluster module of Node stands on the same function.
 */
const { _createServerHandle: createHandle } = net as unknown as {
  readonly _createServerHandle?: (address: string, port: number, family: 4 | 6) => TcpHandle | number;
};

/**
 * Ports of parts that stay taken while the part is restarted: no other program can listen there and be taken for it, and
 * a client that connects meanwhile waits in the queue of the kernel for the next process of the part.
 */
export class HeldSockets {
  readonly #held = new Map<string, HeldSocket & { readonly close: () => void }>();

  /** The socket of a part: the one that is held, or one on the first wanted port that is free, or on any free port. */
  async hold(name: string, wanted: readonly number[]): Promise<HeldSocket> {
    const held = this.#held.get(name);
    if (held) return held;
    for (const port of wanted.filter(each => each > 0)) {
      if ((await isFreePort(port)) && this.#bind(name, port)) return this.#held.get(name)!;
    }
    for (;;) if (this.#bind(name, await findFreePort())) return this.#held.get(name)!;
  }

  /** Gives the port back, for a part whose process could not use it. */
  release(name: string): void {
    this.#held.get(name)?.close();
    this.#held.delete(name);
  }

  #bind(name: string, port: number): boolean {
    const handle = createHandle?.('127.0.0.1', port, 4);
    if (typeof handle === 'number') return false;
    if (!handle) return Boolean(this.#held.set(name, { port, handle: undefined, close: () => undefined }));
    const bound: { port?: number } = {};
    handle.getsockname(bound); // only this shows a port that is taken
    if (bound.port !== port) {
      handle.close();
      return false;
    }
    this.#held.set(name, { port, handle: handle as unknown as Stream, close: () => handle.close() });
    return true;
  }
}
