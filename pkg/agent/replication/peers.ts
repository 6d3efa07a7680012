import type { Duplex } from 'node:stream';

import { Fault } from '../../fault/index.js';

/** The agent of another node, as the control plane names it. */
export interface DialledPeer {
  /** `host:port`. */
  readonly address: string;
  /** SPKI DER in base64, as nodes enrol with it. */
  readonly publicKey: string;
}

/** A connection that another agent has made. */
export interface PeerConnection {
  /** The key that the other end has proved to have: as of `DialledPeer`. */
  readonly publicKey: string;
  readonly stream: Duplex;
  /** Says that it is expected: until then it may be given up for a newer one. */
  readonly admit: () => void;
}

/** The agents of other nodes, whatever lies between. Both ends have proved their keys before anything passes. */
export interface Peers {
  /** Where other agents reach this one, as `host:port`; undefined when it takes no copies. */
  readonly address: string | undefined;
  /** What is sent to all of them together in a second, in bytes; undefined: as much as can be. */
  readonly bandwidth?: number | undefined;

  /** Hands over connections until aborted. What `handle` throws closes the connection. */
  listen(handle: (connection: PeerConnection) => Promise<void>, signal: AbortSignal): Promise<void>;

  /** Throws a `PeerFault` when no agent answers, or one with another key does. */
  connect(peer: DialledPeer, signal: AbortSignal): Promise<Duplex>;
}

/** The agent of another node does not answer, breaks off, refuses, or is not the one that was named. */
export class PeerFault extends Fault {
  readonly retriable = true;
  /** What the other agent has answered, if it has. */
  readonly rejection: string | undefined;

  constructor(message: string, { rejection, ...options }: ErrorOptions & { readonly rejection?: string } = {}) {
    super(message, options);
    this.rejection = rejection;
  }
}
