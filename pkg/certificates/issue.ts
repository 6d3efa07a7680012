import { createHash, createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';

import { Fault } from '../fault/index.js';
import { der, parseAddress } from './der.js';

const DAY_MS = 86_400_000;
/** A clock that is somewhat behind accepts a certificate all the same. */
const BACKDATED_MS = 3_600_000;

/** Object ids of RFC 5280, RFC 5480 and RFC 8410. */
const oid = {
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  ed25519: '1.3.101.112',
} as const;

/** What a certificate may be shown as. */
export type CertificateUsage = 'server' | 'client';

/** The object ids of usages. */
export const usageIds: Readonly<Record<CertificateUsage, string>> = {
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
};

export interface AuthorityRequest {
  /** The common name. */
  readonly name: string;
  readonly key: KeyObject;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly days: number;
}

/** A certificate to be issued. */
export interface CertificateRequest extends AuthorityRequest {
  /** DNS names and IP addresses that a server is called by. */
  readonly hosts: readonly string[];
  readonly usages: readonly CertificateUsage[];
}

/** The one that signs: its certificate, as PEM, and its key. */
export interface CertificateAuthority {
  readonly certificate: string;
  readonly key: KeyObject;
}

/** A certificate cannot be issued, or a file of one cannot be used. */
export class CertificateFault extends Fault {
  readonly retriable = false;
}

/** The certificate of a new authority, signed by itself, as PEM. `key` is a private key on the curve P-256. */
export function issueAuthority(request: AuthorityRequest): string {
  const extensions = [
    extension(oid.basicConstraints, der.sequence(der.boolean(true)), { critical: true }),
    extension(oid.keyUsage, der.bitString(Buffer.of(0b0000_0110), 1), { critical: true }), // signs certificates, lists
    extension(oid.subjectKeyIdentifier, der.octetString(identifyKey(request.key))),
  ];
  return signCertificate(request, extensions, { certificate: undefined, key: request.key });
}

/** The certificate of a server, a client or both, as PEM. `key` is a private key on the curve P-256. */
export function issueCertificate(request: CertificateRequest, authority: CertificateAuthority): string {
  const usages = request.usages.map(usage => der.objectId(usageIds[usage]));
  const extensions = [
    extension(oid.basicConstraints, der.sequence(), { critical: true }),
    extension(oid.keyUsage, der.bitString(Buffer.of(0b1000_0000), 7), { critical: true }), // digital signatures
    extension(oid.extendedKeyUsage, der.sequence(...usages)),
    ...(request.hosts.length === 0
      ? []
      : [extension(oid.subjectAltName, der.sequence(...request.hosts.map(toAltName)))]),
    extension(oid.subjectKeyIdentifier, der.octetString(identifyKey(request.key))),
    extension(oid.authorityKeyIdentifier, der.sequence(der.implicit(0, identifyKey(authority.key)))),
  ];
  return signCertificate(request, extensions, authority);
}

/** A certificate that says nothing but what key its holder has, for peers that know each other by their keys, as PEM. */
export function issueOwnCertificate(request: AuthorityRequest): string {
  const usages = Object.values(usageIds).map(der.objectId);
  const extensions = [
    extension(oid.basicConstraints, der.sequence(), { critical: true }),
    extension(oid.keyUsage, der.bitString(Buffer.of(0b1000_0000), 7), { critical: true }), // digital signatures
    extension(oid.extendedKeyUsage, der.sequence(...usages)),
  ];
  return signCertificate(request, extensions, { certificate: undefined, key: request.key });
}

function signCertificate(
  { name, key, now, days }: AuthorityRequest,
  extensions: readonly Buffer[],
  issuer: { readonly certificate: string | undefined; readonly key: KeyObject },
): string {
  const isEdwards = issuer.key.asymmetricKeyType === 'ed25519';
  const algorithm = der.sequence(der.objectId(isEdwards ? oid.ed25519 : oid.ecdsaWithSha256));
  const signed = der.sequence(
    der.explicit(0, der.integer(Buffer.of(2))), // version 3
    der.integer(randomBytes(16)),
    algorithm,
    encodeName(issuer.certificate === undefined ? name : readCommonName(new X509Certificate(issuer.certificate))),
    der.sequence(der.time(now - BACKDATED_MS), der.time(now + days * DAY_MS)),
    encodeName(name),
    encodePublicKey(key),
    der.explicit(3, der.sequence(...extensions)),
  );
  const certificate = der.sequence(
    signed,
    algorithm,
    der.bitString(sign(isEdwards ? null : 'sha256', signed, issuer.key)),
  );
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function extension(id: string, value: Buffer, { critical = false } = {}): Buffer {
  return der.sequence(der.objectId(id), ...(critical ? [der.boolean(true)] : []), der.octetString(value));
}

function encodeName(commonName: string): Buffer {
  return der.sequence(der.set(der.sequence(der.objectId(oid.commonName), der.utf8(commonName))));
}

/** An authority of ours has a common name and nothing else, so that its name can be encoded again. */
export function readCommonName({ subject }: Pick<X509Certificate, 'subject'>): string {
  const [, name] = /^CN=([^\n]+)$/.exec(subject) ?? [];
  if (name !== undefined) return name;
  throw new CertificateFault('the subject of the authority is not a common name alone: it was issued elsewhere');
}

function toAltName(host: string): Buffer {
  const address = parseAddress(host);
  if (address) return der.implicit(7, address);
  if (/^[\w*.-]+$/.test(host)) return der.implicit(2, Buffer.from(host, 'ascii'));
  throw new CertificateFault(`"${host}" is neither a DNS name nor an IP address`);
}

function encodePublicKey(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' });
}

/** RFC 7093, method 4: the first 160 bits of a digest of the public key. */
function identifyKey(key: KeyObject): Buffer {
  return createHash('sha256').update(encodePublicKey(key)).digest().subarray(0, 20);
}
