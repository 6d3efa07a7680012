import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';

import {
  type CertificateAuthority,
  CertificateFault,
  type CertificateUsage,
  issueAuthority,
  issueCertificate,
  readCommonName,
  usageIds,
} from './issue.js';

const AUTHORITY_DAYS = 3_650;
const CERTIFICATE_DAYS = 365;
/** A certificate with less than this share of its life left is issued again. */
const RENEWED_BELOW = 0.5;
const PRIVATE_FILE = 0o600;

/** Paths of a certificate, of its key and of the certificate of its authority, all PEM. */
export interface CertificateFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** The contents of the files, as TLS takes them. */
export function readCertificates({ ca, cert, key }: CertificateFiles): {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
} {
  return { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
}

/** A certificate of a folder, as its file says. */
export interface CertificateSummary {
  readonly name: string;
  readonly hosts: readonly string[];
  readonly usages: readonly CertificateUsage[];
  /** ISO 8601. */
  readonly expiresAt: string;
  /** Whether so much of its life is over that it is to be issued again. */
  readonly isDue: boolean;
}

export interface CertificateFolderOptions {
  readonly folder: string;
  /** The common name of the authority, where the folder has none yet. */
  readonly authorityName: string;
  readonly now: () => number;
}

/**
 * A certificate authority and what it issued, in one folder that only its owner may read.
 *
 * A key is written before its certificate, and stays: whatever is missing, damaged or about to expire is issued again
 * for the same key, so that a pinned key, and certificates of an authority that was renewed, stay valid.
 */
export class CertificateFolder {
  readonly #folder: string;
  readonly #now: () => number;
  readonly #authority: CertificateAuthority;

  /** Opens the folder, and creates it and its authority where they are missing. */
  constructor({ folder, authorityName, now }: CertificateFolderOptions) {
    this.#folder = folder;
    this.#now = now;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    const key = this.#openKey('ca');
    const found = this.#readCertificate('ca', key);
    const name = found ? readCommonName(found) : authorityName;
    const renew = () => issueAuthority({ name, key, now: now(), days: AUTHORITY_DAYS });
    this.#authority = { key, certificate: this.#openCertificate('ca', key, () => true, renew) };
  }

  /** The files of a certificate with this name. It is issued now unless a sound one is there. */
  ensure(name: string, hosts: readonly string[], usages: readonly CertificateUsage[]): CertificateFiles {
    const key = this.#openKey(name);
    const { certificate } = this.#authority;
    const issuer = new X509Certificate(certificate);
    const isSound = (found: X509Certificate) =>
      found.verify(issuer.publicKey) && hosts.every(host => covers(found, host)) && hasUsages(found, usages);
    this.#openCertificate(name, key, isSound, () =>
      issueCertificate({ name, key, hosts, usages, now: this.#now(), days: CERTIFICATE_DAYS }, this.#authority),
    );
    return { ca: this.#path('ca.pem'), cert: this.#path(`${name}.pem`), key: this.#path(`${name}.key`) };
  }

  /** What the authority has issued here, and itself as `ca`. */
  list(): readonly CertificateSummary[] {
    const names = readdirSync(this.#folder).flatMap(file => /^(.+)\.key$/.exec(file)?.[1] ?? []);
    return names.sort().flatMap(name => {
      const certificate = this.#readCertificate(name, this.#openKey(name));
      if (!certificate) return [];
      const usages = (['server', 'client'] as const).filter(usage => hasUsages(certificate, [usage]));
      const expiresAt = new Date(certificate.validTo).toISOString();
      return [{ name, hosts: listHosts(certificate), usages, expiresAt, isDue: isExpiring(certificate, this.#now()) }];
    });
  }

  /** Issues again what is due, or all, each for its key, hosts and usages; answers the names. */
  renew({ all }: { readonly all: boolean }): readonly string[] {
    const due = this.list().filter(({ name, isDue }) => name !== 'ca' && (all || isDue));
    for (const { name, hosts, usages } of due) {
      const key = this.#openKey(name);
      const request = { name, key, hosts, usages, now: this.#now(), days: CERTIFICATE_DAYS };
      writePrivate(this.#path(`${name}.pem`), issueCertificate(request, this.#authority));
    }
    return due.map(({ name }) => name);
  }

  #openKey(name: string): KeyObject {
    const path = this.#path(`${name}.key`);
    const stored = readText(path);
    if (stored !== undefined) {
      chmodSync(path, PRIVATE_FILE);
      try {
        return createPrivateKey(stored);
      } catch (thrown) {
        throw new CertificateFault(`${path} is not a private key: restore it, or remove the folder ${this.#folder}`, {
          cause: thrown,
        });
      }
    }
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writePrivate(path, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    return privateKey;
  }

  #openCertificate(
    name: string,
    key: KeyObject,
    isSound: (certificate: X509Certificate) => boolean,
    issue: () => string,
  ): string {
    const found = this.#readCertificate(name, key);
    if (found && !isExpiring(found, this.#now()) && isSound(found)) return found.toString();
    const issued = issue();
    writePrivate(this.#path(`${name}.pem`), issued);
    return issued;
  }

  /** Undefined when it is missing, damaged, or of another key. */
  #readCertificate(name: string, key: KeyObject): X509Certificate | undefined {
    const stored = readText(this.#path(`${name}.pem`));
    try {
      const certificate = stored === undefined ? undefined : new X509Certificate(stored);
      return certificate?.checkPrivateKey(key) ? certificate : undefined;
    } catch {
      return undefined; // damaged: it is issued again
    }
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

function isExpiring({ validFrom, validTo }: X509Certificate, now: number): boolean {
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  return now < from || to - now < (to - from) * RENEWED_BELOW;
}

function covers(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

function listHosts({ subjectAltName }: X509Certificate): readonly string[] {
  return Array.from(subjectAltName?.matchAll(/(?:DNS|IP Address):([^,\s]+)/g) ?? [], ([, host]) => host!);
}

function hasUsages({ keyUsage }: X509Certificate, usages: readonly CertificateUsage[]): boolean {
  return usages.every(usage => keyUsage?.includes(usageIds[usage]));
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** A file that root renews stays readable by the server that it was made for. */
function keepOwner(file: number, path: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(existsSync(path) ? path : dirname(path));
  fchownSync(file, uid, gid);
}

/** Readers see the old file or the new one, also after a crash. */
function writePrivate(path: string, content: string | Buffer): void {
  const draft = `${path}.${process.pid}.new`;
  const file = openSync(draft, 'w', PRIVATE_FILE);
  try {
    writeFileSync(file, content);
    keepOwner(file, path);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}
