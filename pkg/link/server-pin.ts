import { createHash, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';

import { Fault } from '../fault/index.js';
import { LinkUnreachableFault } from './agent-link.js';

const CONNECT_LIMIT_MS = 5_000;
const PIN = /^sha256:[0-9a-f]{64}$/;

/** The server is not the one that the join token names. Nothing was sent to it. */
class ServerNotTrustedFault extends Fault {
  readonly retriable = true;
}

/** A join token, and what it says of the server. */
export interface JoinCredentials {
  readonly token: string;
  /** `sha256:` and the digest of the public key of the server's certificate authority. */
  readonly pin: string | undefined;
}

/** Parses `mjn_…` or `mjn_…@sha256:…`. */
export function parseJoinToken(text: string): JoinCredentials {
  const [token = '', pin] = text.split('@', 2);
  return { token, pin };
}

/** Whether a certificate, as PEM, has the pinned key. */
export function hasPinnedKey(certificate: string, pin: string): boolean {
  return toPin(new X509Certificate(certificate)) === pin;
}

/** `sha256:` and the digest of the public key of a certificate, as agents pin it. */
export function toPin({ publicKey }: Pick<X509Certificate, 'publicKey'>): string {
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(der).digest('hex')}`;
}

/**
 * The certificate of the pinned authority, as PEM, out of the chain that the server shows. Nothing is sent before every later
 * connection is verified with that authority: this one only reads certificates, of which the pin picks the right one.
 */
export function fetchPinnedAuthority(server: string, pin: string): Promise<string> {
  if (!PIN.test(pin))
    throw new ServerNotTrustedFault('the fingerprint in the join token must be sha256: and 64 hex digits');
  const { hostname, port } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: Number(port || 443),
      rejectUnauthorized: false,
      ...(isIP(host) === 0 && { servername: host }),
    });
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(CONNECT_LIMIT_MS, () =>
      fail(new LinkUnreachableFault('the server shows no certificate in time')),
    );
    socket.once('error', error => fail(new LinkUnreachableFault('no TLS connection to the server', { cause: error })));
    socket.once('secureConnect', () => {
      const chain = listChain(socket.getPeerCertificate(true)).map(({ raw }) => new X509Certificate(raw));
      socket.destroy();
      const authority = chain.find(certificate => toPin(certificate) === pin);
      if (authority) resolve(authority.toString());
      else reject(new ServerNotTrustedFault(`${server} is not the server that the join token was made for`));
    });
  });
}

/** The certificates that a peer has shown, its own first. A root names itself as its issuer. */
function listChain(
  own: PeerCertificate & { readonly issuerCertificate?: PeerCertificate },
): readonly PeerCertificate[] {
  const chain: PeerCertificate[] = [];
  for (let at: typeof own | undefined = own; at?.raw && !chain.includes(at); at = at.issuerCertificate) chain.push(at);
  return chain;
}
