import type { Socket } from 'node:net';

import { toAddressKey } from '../http/hosts.js';
import { RequestRejection } from '../http/reply.js';
import type { Seats } from './seats.js';

/** One connection, as both its plain and its TLS socket name it. */
const toKey = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;

/**
 * Which connections are kept. Each address has so many, and when the server has no more, a new one takes the place of the
 * oldest on which no valid token was ever presented: so connections that prove nothing cannot keep agents out.
 */
export class ConnectionGate {
  readonly #seats: Seats;
  /** How to cut each connection without a proof, the oldest first. */
  readonly #unproven = new Map<string, () => void>();
  readonly #proven = new WeakSet<Socket>();

  constructor(seats: Seats) {
    this.#seats = seats;
  }

  /** Counts a new connection, or cuts it. */
  admit(socket: Socket): void {
    const release = this.#findSeat(toAddressKey(socket.remoteAddress));
    if (!release) {
      socket.destroy();
      return;
    }
    const key = toKey(socket);
    let isOpen = true;
    const leave = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#unproven.delete(key);
      release();
    };
    this.#unproven.set(key, () => {
      leave();
      socket.destroy();
    });
    socket.once('close', leave);
  }

  /** Notes that a valid token was presented on a connection. */
  prove(socket: Socket): void {
    if (this.#proven.has(socket)) return;
    this.#proven.add(socket);
    this.#unproven.delete(toKey(socket));
  }

  #findSeat(address: string): (() => void) | undefined {
    const seat = this.#seats.take('connections', { address, server: '' });
    if (!(seat instanceof RequestRejection)) return seat;
    const [cutOldest] = seat.rejections[0].code === 'server_overloaded' ? this.#unproven.values() : [];
    if (!cutOldest) return undefined;
    cutOldest();
    const freed = this.#seats.take('connections', { address, server: '' });
    return freed instanceof RequestRejection ? undefined : freed;
  }
}
