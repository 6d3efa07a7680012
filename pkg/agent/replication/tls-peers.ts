import type { KeyObject } from 'node:crypto';
import { type AddressInfo, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect, createSecureContext, createServer, type SecureContext, type Server, type TLSSocket } from 'node:tls';

import { issueOwnCertificate } from '../../certificates/index.js';
import { type Clock, untilAborted } from '../../clock/index.js';
import { formatPeerAddress, isWildcard, type PeerAddress, parsePeerAddress } from './peer-address.js';
import { type DialledPeer, type PeerConnection, PeerFault, type Peers } from './peers.js';

const HANDSHAKE_MS = 10_000;
/** Strangers may not keep more connections open than this: the oldest is closed for the next. */
const PENDING_MAX = 32;
/** Its dates are not looked at: the key alone is compared. */
const CERTIFICATE_DAYS = 3_650;

export interface TlsPeersOptions {
  /** The node's own. */
  readonly key: KeyObject;
  readonly clock: Clock;
  /** Without it this agent takes no copies. */
  readonly listen?: PeerAddress | undefined;
  /** Where others reach it; default: where it listens. */
  readonly address?: string | undefined;
  readonly bandwidth?: number | undefined;
}

type Handle = (connection: PeerConnection) => Promise<void>;

/**
 * TLS 1.3 between agents. Each shows a certificate that it signed itself: the handshake proves that it has the key in it, and that
 * key is what either end knows the other by. There is no authority, and names mean nothing.
 */
export class TlsPeers implements Peers {
  readonly bandwidth: number | undefined;
  readonly #options: TlsPeersOptions;
  readonly #identity: { readonly key: string; readonly cert: string; readonly minVersion: 'TLSv1.3' };
  /** Of all that it dials: one made for each would read key and certificate each time. */
  readonly #dialling: SecureContext;
  readonly #pending = new Map<string, Socket>();
  readonly #open = new Set<Socket>();
  #server: Server | undefined;
  #handle: Handle | undefined;

  private constructor(options: TlsPeersOptions) {
    const { key, clock, bandwidth } = options;
    this.#options = options;
    this.bandwidth = bandwidth;
    const cert = issueOwnCertificate({ name: 'mooring node', key, now: clock.now(), days: CERTIFICATE_DAYS });
    this.#identity = { key: key.export({ type: 'pkcs8', format: 'pem' }).toString(), cert, minVersion: 'TLSv1.3' };
    this.#dialling = createSecureContext(this.#identity);
  }

  /** Takes the port, so that a failure to do so is reported when the agent starts. */
  static async open(options: TlsPeersOptions): Promise<TlsPeers> {
    const peers = new TlsPeers(options);
    if (options.listen) await peers.#bind(options.listen);
    return peers;
  }

  get address(): string | undefined {
    const { address, listen } = this.#options;
    if (address !== undefined || !listen || isWildcard(listen.host)) return address;
    return formatPeerAddress({ host: listen.host, port: this.port });
  }

  /** The port that it listens at. */
  get port(): number {
    return (this.#server?.address() as AddressInfo | null | undefined)?.port ?? 0;
  }

  /** Connections that are open, in either direction. */
  get connections(): number {
    return this.#open.size;
  }

  async listen(handle: Handle, signal: AbortSignal): Promise<void> {
    this.#handle = handle;
    await untilAborted(signal);
    if (this.#handle === handle) this.#handle = undefined;
    for (const socket of this.#open) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise<void>(resolve => (this.#server ? this.#server.close(() => resolve()) : resolve()));
  }

  async connect({ address, publicKey }: DialledPeer, signal: AbortSignal): Promise<Duplex> {
    const place = parsePeerAddress(address);
    if (!place)
      throw new PeerFault('the address of the other node is not host:port; see --volume-address of its agent');
    const servername = isIP(place.host) === 0 ? { servername: place.host } : {};
    const socket = connect({ ...place, ...servername, secureContext: this.#dialling, rejectUnauthorized: false });
    await untilSecure(socket, signal);
    socket.setNoDelay(true).setTimeout(0);
    if (readPublicKey(socket) === publicKey) return socket;
    socket.destroy();
    throw new PeerFault('the agent that answers does not have the key of that node; see --volume-address of its agent');
  }

  async #bind({ host, port }: PeerAddress): Promise<void> {
    const server = createServer({
      ...this.#identity,
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: HANDSHAKE_MS,
    });
    this.#server = server;
    server.on('connection', (socket: Socket) => this.#onStranger(socket));
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    server.on('secureConnection', socket => this.#onSecure(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => resolve());
    });
    server.on('error', () => undefined);
  }

  #onStranger(socket: Socket): void {
    const name = toName(socket);
    this.#open.add(socket);
    this.#pending.set(name, socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#open.delete(socket);
      if (this.#pending.get(name) === socket) this.#pending.delete(name);
    });
    const [oldest] = this.#pending.values();
    if (this.#pending.size > PENDING_MAX) oldest?.destroy();
  }

  #onSecure(socket: TLSSocket): void {
    const handle = this.#handle;
    const publicKey = readPublicKey(socket);
    const name = toName(socket);
    socket.on('error', () => undefined);
    if (!handle || publicKey === undefined) return void socket.destroy();
    socket.setNoDelay(true);
    const admit = () => void this.#pending.delete(name);
    handle({ publicKey, stream: socket, admit }).then(
      () => socket.destroySoon(),
      () => socket.destroy(),
    );
  }
}

function toName({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`;
}

/** The key that the other end has proved to have; undefined when it shows none, or one that cannot be read. */
function readPublicKey(socket: TLSSocket): string | undefined {
  try {
    const der = socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' });
    return der?.toString('base64');
  } catch {
    return undefined;
  }
}

function untilSecure(socket: TLSSocket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause?: Error) => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      reject(new PeerFault('the agent of the other node cannot be reached; see its --volume-listen', { cause }));
    };
    const onAbort = () => fail();
    signal.addEventListener('abort', onAbort, { once: true });
    socket.setTimeout(HANDSHAKE_MS, onAbort);
    socket.on('error', fail);
    socket.once('secureConnect', () => {
      socket.removeAllListeners('timeout');
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
  });
}
