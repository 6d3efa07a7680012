import { keys } from '../../crds/keys/index.js';
import { reject } from '../../crds/rejections/index.js';
import type { StoredToken } from '../../crds/tenant/index.js';
import { type Keyring, parseToken, verifyToken } from '../../pkg/auth/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import { type Cache, value } from '../../pkg/store/index.js';
import { Refused } from '../refusal.js';
import type { Caller } from './caller.js';

export interface AuthenticationEnv {
  readonly cache: Cache;
  readonly keyring: Keyring;
  readonly clock: Clock;
}

/** Who is calling, or that it could not be established. */
export type Identified = Caller | Refused;

const BEARER = /^Bearer ([!-~]{1,256})$/i;

/**
 * Establishes who is calling. Gives the same refusal for every token that is not good, and another only for a request
 * that carries none. Answers at once, without a promise, whenever the cache already knows.
 */
export function authenticate(env: AuthenticationEnv, header: string | undefined): Identified | Promise<Identified> {
  if (header === undefined) return refusal('auth_required', '');
  const presented = parseToken(BEARER.exec(header)?.[1] ?? '');
  if (!presented) return refusal('auth_invalid', header);

  const check = (): Identified => {
    const entry = env.cache.get(keys.token(presented.id));
    const stored = entry && value<StoredToken>(entry);
    const verified = verifyToken(presented, stored, env.keyring, env.clock.now());
    return verified.ok ? callerOf(verified.token) : refusal('auth_invalid', header);
  };
  // A cache that has lost its watch might miss a revocation, and one that lags a token just made.
  const known = env.cache.connected && env.cache.get(keys.token(presented.id)) !== undefined;
  return known ? check() : env.cache.barrier().then(check);
}

function callerOf(token: StoredToken): Caller {
  return { kind: token.kind, id: token.id, tenant: token.tenant, role: token.role, token };
}

function refusal(code: 'auth_required' | 'auth_invalid', header: string): Refused {
  const challenge = code === 'auth_required' ? 'Bearer' : 'Bearer error="invalid_token"';
  return new Refused(reject(code, 'Authorization', header), { 'www-authenticate': challenge });
}
