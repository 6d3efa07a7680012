import { randomUUID, sign, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';

import type { CertificateFiles } from '../certificates/index.js';
import { answer, REGISTRY_CREDENTIAL } from './registry-lab.testing.js';

/** What the registry and the token server call themselves. */
export const SERVICE = 'lab registry';
export const ISSUER = 'lab tokens';

const BASIC = `Basic ${Buffer.from(`${REGISTRY_CREDENTIAL.username}:${REGISTRY_CREDENTIAL.password}`).toString('base64')}`;

/** A token server: strangers may pull what is `public/…`, the robot may pull everything. */
export function createTokenServer(certificates: CertificateFiles): RequestListener {
  return ({ url = '', headers }, response) => {
    const { authorization } = headers;
    if (authorization !== undefined && authorization !== BASIC) return answer(response, 401);
    const [type = '', name = '', actions = ''] = (new URL(url, 'http://x').searchParams.get('scope') ?? '').split(':');
    const allowed = actions === 'pull' && (authorization === BASIC || name.startsWith('public/'));
    const token = tokenFor(certificates, allowed ? [{ type, name, actions: [actions] }] : []);
    answer(response, 200, { 'content-type': 'application/json' }, JSON.stringify({ token }));
  };
}

/** A JWT that Debian's registry takes: signed with a key whose certificate is in its bundle. */
function tokenFor({ cert, key }: CertificateFiles, access: readonly unknown[]): string {
  const x5c = [new X509Certificate(readFileSync(cert)).raw.toString('base64')];
  const now = Math.floor(Date.now() / 1000);
  const life = { iat: now, nbf: now - 10, exp: now + 60, jti: randomUUID() };
  const claims = { iss: ISSUER, sub: 'lab', aud: SERVICE, ...life, access };
  const signed = [{ typ: 'JWT', alg: 'ES256', x5c }, claims]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = sign('sha256', Buffer.from(signed), { key: readFileSync(key), dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}
