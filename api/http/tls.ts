import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions, type Server as TlsServer } from 'node:tls';

import type { Clock } from '../../pkg/clock/index.js';
import { InvalidSettingFault, type Settings } from '../../pkg/config/index.js';
import { asError } from '../../pkg/fault/index.js';
import { toPin } from '../../pkg/link/index.js';
import type { Logger } from '../../pkg/log/index.js';

type TlsSettings = Pick<Settings, 'tlsCertFile' | 'tlsKeyFile' | 'tlsCaFile'>;

const LOOK_EVERY_MS = 5_000;
/** The first byte of a TLS connection; no method of HTTP begins with it. */
const HANDSHAKE = 0x16;

/** The certificate, key and authority as the files have them now. Undefined when no files are set. */
export function readTls({ tlsCertFile, tlsKeyFile, tlsCaFile }: TlsSettings): SecureContextOptions | undefined {
  if (tlsCertFile === '' && tlsKeyFile === '') return undefined;
  if (tlsCertFile === '' || tlsKeyFile === '') {
    throw new InvalidSettingFault('settings "tlsCertFile" and "tlsKeyFile": must be set together');
  }
  const certificate = readFileSync(tlsCertFile, 'utf8');
  // Agents that know the authority by its fingerprint only find it in the chain.
  const chain = tlsCaFile === '' ? certificate : `${certificate.trimEnd()}\n${readFileSync(tlsCaFile, 'utf8')}`;
  return { cert: chain, key: readFileSync(tlsKeyFile), minVersion: 'TLSv1.2' };
}

/** `sha256:` and the digest of the authority's public key, as agents pin it; undefined when no authority is set. */
export function readAuthorityPin({ tlsCaFile }: Pick<Settings, 'tlsCaFile'>): string | undefined {
  return tlsCaFile === '' ? undefined : toPin(new X509Certificate(readFileSync(tlsCaFile)));
}

/**
 * Reads the files again when they change, so that certificates are renewed without a restart. Files that cannot be used
 * are reported and the old certificate stays. Returns how to stop it.
 */
export function followTls(
  server: Pick<TlsServer, 'setSecureContext'>,
  settings: TlsSettings,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): () => void {
  let known = stampFiles(settings);
  const look = () => {
    cancel = clock.after(LOOK_EVERY_MS, look);
    const stamp = stampFiles(settings);
    if (stamp === known) return;
    known = stamp;
    try {
      server.setSecureContext(readTls(settings) ?? {});
      log.info('the certificate of the server was read again');
    } catch (thrown) {
      log.warn(
        'the certificate of the server cannot be used; the old one stays in use: correct the files of tlsCertFile and tlsKeyFile, which are read again by themselves',
        { error: asError(thrown) },
      );
    }
  };
  let cancel = clock.after(LOOK_EVERY_MS, look);
  return () => cancel();
}

/** What changes when one of the files does. A file that is being replaced may be missing for a moment. */
function stampFiles({ tlsCertFile, tlsKeyFile, tlsCaFile }: TlsSettings): string {
  const files = [tlsCertFile, tlsKeyFile, tlsCaFile].filter(Boolean);
  const stamps = files.map(file => statSync(file, { throwIfNoEntry: false }));
  return stamps.map(stat => (stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : '-')).join('\n');
}

/**
 * Makes a server of plain HTTP answer TLS on the same port: the first byte of a connection distinguishes them. What is
 * behind the TLS is served by the same server, with the same limits and deadlines.
 */
export function acceptTls(server: Server, options: SecureContextOptions, waitMs: number): TlsServer {
  const [serve] = server.listeners('connection') as [(this: Server, socket: Socket) => void];
  const secure = createTlsServer({ ...options, handshakeTimeout: waitMs }, socket => serve.call(server, socket));
  secure.on('tlsClientError', (_error, socket) => socket.destroy());
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const destroy = () => socket.destroy();
    socket.setTimeout(waitMs, destroy);
    socket.once('error', destroy).once('end', destroy);
    const look = (): void => {
      const first = socket.read(1) as Buffer | null;
      if (first) return hand(socket, first);
      if (!socket.destroyed) socket.once('readable', look);
    };
    const hand = (connection: Socket, first: Buffer) => {
      connection.setTimeout(0);
      connection.off('timeout', destroy).off('error', destroy).off('end', destroy);
      connection.unshift(first);
      if (first[0] === HANDSHAKE) {
        connection.allowHalfOpen = false; // HTTP wants it; one that ends within its handshake would stay
        secure.emit('connection', connection);
      } else serve.call(server, connection);
    };
    look();
  });
  return secure;
}
