import type { Socket } from 'node:net';

import { toAddressKey } from '../http/hosts.js';
import { RequestRejection } from '../http/reply.js';
import type { Caller } from '../http/route.js';
import { SeatCounter, type Seats, SEATS_PER_NODE } from './seats.js';

/** One connection, as both its plain and its TLS socket name it. */
const toKey = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;

/** Who has shown a valid token on a connection. */
type ConnectionProof = 'none' | 'token' | 'node';

interface AdmittedConnection {
  readonly address: string;
  readonly cut: () => void;
  proof: ConnectionProof;
  /** The node whose proof it is. */
  node?: string;
}

/** The connections that can make way for others, of one address or of the server, the oldest first. */
class DispensableConnections {
  readonly none = new Set<AdmittedConnection>();
  readonly token = new Set<AdmittedConnection>();

  get first(): AdmittedConnection | undefined {
    const [first] = this.none.size > 0 ? this.none : this.token;
    return first;
  }
}

/**
 * Which connections are kept. An address has so many, and the server; beyond that a new one takes the place of the oldest on
 * which no valid token was ever presented, or else of the oldest that no node has proven: so neither strangers nor tenants
 * can keep agents out, from the address of a node either. At the limit of an address one of that address makes way.
 */
export class ConnectionGate {
  readonly #seats: Seats;
  readonly #connections = new Map<string, AdmittedConnection>();
  readonly #proven = new WeakMap<Socket, ConnectionProof>();
  readonly #ofServer = new DispensableConnections();
  readonly #ofAddresses = new Map<string, DispensableConnections>();
  /** As many as an agent needs: the owner of a node cannot make all of its connections indispensable. */
  readonly #ofNodes = new SeatCounter({ node: SEATS_PER_NODE });

  constructor(seats: Seats) {
    this.#seats = seats;
  }

  /** Counts a new connection, or cuts it. */
  admit(socket: Socket): void {
    const address = toAddressKey(socket.remoteAddress);
    const release = this.#findSeat(address);
    if (!release) {
      socket.destroy();
      return;
    }
    const key = toKey(socket);
    let isOpen = true;
    const leave = () => {
      if (!isOpen) return;
      isOpen = false;
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
      this.#setProof(connection, undefined);
      if (connection.node !== undefined) this.#ofNodes.release({ node: connection.node });
      release();
    };
    const cut = () => {
      leave();
      socket.destroy();
    };
    const connection: AdmittedConnection = { address, cut, proof: 'none' };
    this.#connections.set(key, connection);
    this.#setProof(connection, 'none');
    socket.once('close', leave);
  }

  /** Notes that a caller with a valid token, of a node with its proof, was let through on a connection. */
  prove(socket: Socket, { kind, id, token }: Caller): void {
    const known = this.#proven.get(socket);
    if (known === 'node' || (known === 'token' && kind !== 'node')) return;
    const connection = this.#connections.get(toKey(socket));
    if (!connection) return;
    const node = token?.node ?? id;
    const isNodes = kind === 'node' && !this.#ofNodes.take({ node });
    if (isNodes) connection.node = node;
    const proof = isNodes ? 'node' : 'token';
    this.#proven.set(socket, proof);
    this.#setProof(connection, proof);
  }

  /** Moves a connection among those that can make way; undefined: it has gone. */
  #setProof(connection: AdmittedConnection, proof: ConnectionProof | undefined): void {
    const { address, proof: before } = connection;
    const ofAddress = this.#ofAddresses.get(address) ?? new DispensableConnections();
    for (const dispensable of [this.#ofServer, ofAddress]) {
      if (before !== 'node') dispensable[before].delete(connection);
      if (proof && proof !== 'node') dispensable[proof].add(connection);
    }
    if (proof) connection.proof = proof;
    if (ofAddress.first) this.#ofAddresses.set(address, ofAddress);
    else this.#ofAddresses.delete(address);
  }

  #findSeat(address: string): (() => void) | undefined {
    const seat = this.#seats.take('connections', { address, server: '' });
    if (!(seat instanceof RequestRejection)) return seat;
    const isServerFull = seat.rejections[0].code === 'server_overloaded';
    const oldest = (isServerFull ? this.#ofServer : this.#ofAddresses.get(address))?.first;
    if (!oldest) return undefined;
    oldest.cut();
    const freed = this.#seats.take('connections', { address, server: '' });
    return freed instanceof RequestRejection ? undefined : freed;
  }
}
