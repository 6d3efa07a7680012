import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files of a certificate authority, and of a certificate that it has signed for loopback. */
export interface Certificates {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Makes them with openssl, for `127.0.0.1` and `registry.test`, for a day. */
export function makeCertificates(folder: string): Certificates {
  const file = (name: string) => join(folder, name);
  const openssl = (...words: readonly string[]) => execFileSync('openssl', words, { stdio: 'pipe' });
  const [ca, caKey, certificate, key] = ['ca.crt', 'ca.key', 'leaf.crt', 'leaf.key'].map(file) as string[];
  const authority = ['-x509', '-days', '1', '-subj', '/CN=lab authority'];
  openssl('req', ...authority, ...NEW_KEY, '-keyout', caKey!, '-out', ca!);
  openssl('req', '-new', '-subj', '/CN=lab registry', ...NEW_KEY, '-keyout', key!, '-out', file('leaf.csr'));
  writeFileSync(file('leaf.ext'), 'subjectAltName=IP:127.0.0.1,DNS:registry.test\n');
  const signing = ['-CA', ca!, '-CAkey', caKey!, '-CAcreateserial', '-days', '1', '-extfile', file('leaf.ext')];
  openssl('x509', '-req', '-in', file('leaf.csr'), ...signing, '-out', certificate!);
  return { ca: ca!, certificate: certificate!, key: key! };
}
