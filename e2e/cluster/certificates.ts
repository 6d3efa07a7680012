import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files of a certificate authority and of a certificate for members and clients. */
export interface CertificateFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function openssl(...argv: readonly string[]): void {
  execFileSync('openssl', argv, { stdio: 'pipe' });
}

/** A certificate authority for one test, made with openssl. */
export class TestAuthority {
  readonly #folder: string;
  #issued = 0;

  constructor(folder: string) {
    this.#folder = folder;
    const authority = ['-x509', '-days', '2', '-subj', '/CN=test authority'];
    openssl('req', ...authority, ...NEW_KEY, '-keyout', this.#file('ca.key'), '-out', this.#file('ca.pem'));
  }

  /** A certificate that both etcd and its clients may show, for these addresses. */
  issue(name: string, addresses: readonly string[]): CertificateFiles {
    const stem = `${name}-${++this.#issued}`;
    const [cert, key, request, extensions] = ['pem', 'key', 'csr', 'ext'].map(end => this.#file(`${stem}.${end}`));
    openssl('req', '-subj', `/CN=${name}`, ...NEW_KEY, '-keyout', key!, '-out', request!);
    const names = ['127.0.0.1', ...addresses].map(address => `IP:${address}`).join(',');
    writeFileSync(extensions!, `subjectAltName=${names},DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n`);
    const signing = ['-CA', this.#file('ca.pem'), '-CAkey', this.#file('ca.key'), '-CAcreateserial', '-days', '2'];
    openssl('x509', '-req', '-in', request!, ...signing, '-extfile', extensions!, '-out', cert!);
    return { ca: this.#file('ca.pem'), cert: cert!, key: key! };
  }

  #file(name: string): string {
    return join(this.#folder, name);
  }
}

/** The contents of the files, as a client wants them. */
export function readCertificates({ ca, cert, key }: CertificateFiles): {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
} {
  return { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
}
