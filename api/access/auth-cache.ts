import { keys } from '../../crds/keys/index.js';
import { reject } from '../../crds/rejections/index.js';
import type { StoredToken } from '../../crds/tenant/index.js';
import { type Keyring, parseToken, verifyToken } from '../../pkg/auth/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import { type Cache, value } from '../../pkg/store/index.js';
import type { Caller } from '../http/route.js';
import { RequestRejection } from '../http/reply.js';

export interface AuthenticationEnv {
  readonly cache: Cache;
  readonly keyring: Keyring;
  readonly clock: Clock;
}

/** Who is calling, or that it could not be established. */
export type AuthResult = Caller | RequestRejection;

const BEARER = /^Bearer ([!-~]{1,256})$/i;

/**
 * Establishes who is calling. Gives the same refusal for every token that is not good, and another only for a request
 * that carries none. Answers at once, without a promise, whenever the cache already knows.
 */
export function authenticateCaller(
  env: AuthenticationEnv,
  header: string | undefined,
): AuthResult | Promise<AuthResult> {
  if (header === undefined) return refusal('auth_required', '');
  const presented = parseToken(BEARER.exec(header)?.[1] ?? '');
  if (!presented) return refusal('auth_invalid', header);

  const check = (): AuthResult => {
    const entry = env.cache.get(keys.token(presented.id));
    const stored = entry && value<StoredToken>(entry);
    const verified = verifyToken(presented, stored, env.keyring, env.clock.now());
    return verified.ok ? toCaller(verified.token) : refusal('auth_invalid', header);
  };
  // A cache that has lost its watch might miss a revocation, and one that lags a token just made. A wrong secret of a known
  // id takes the same way as an unknown id: the time of the answer does not say which ids exist.
  const known = env.cache.connected ? check() : undefined;
  return known && 'kind' in known ? known : env.cache.barrier().then(check);
}

/** Whether a header has the form of a node's token, valid or not. */
export function isNodeToken(header = ''): boolean {
  return parseToken(BEARER.exec(header)?.[1] ?? '')?.kind === 'node';
}

function toCaller(token: StoredToken): Caller {
  return { kind: token.kind, id: token.id, tenant: token.tenant, role: token.role, token };
}

function refusal(code: 'auth_required' | 'auth_invalid', header: string): RequestRejection {
  const challenge = code === 'auth_required' ? 'Bearer' : 'Bearer error="invalid_token"';
  return new RequestRejection(reject(code, 'Authorization', header), { 'www-authenticate': challenge });
}

interface AuthCacheEntry {
  readonly header: string;
  readonly caller: Caller;
  /** Where the record of the token stands. */
  readonly key: string;
  readonly until: number;
}

/**
 * Who called last on each connection: the same header on the same connection need not be proven again, for as long as
 * the record of its token is the very one it was proven by. A connection is compared with its own header only.
 */
export class AuthCache {
  readonly #env: AuthenticationEnv;
  readonly #met = new WeakMap<object, AuthCacheEntry>();
  /** Connections on which several tokens were presented: those of a proxy. */
  readonly #shared = new WeakSet<object>();

  constructor(env: AuthenticationEnv) {
    this.#env = env;
  }

  /** Establishes who is calling on a connection, as `authenticate` does. */
  identify(connection: object, header: string | undefined): AuthResult | Promise<AuthResult> {
    const met = this.#met.get(connection);
    if (met && met.header === header && this.#stands(met)) return met.caller;
    const identified = authenticateCaller(this.#env, header);
    if (!(identified instanceof Promise)) this.#meet(connection, header, identified);
    return identified;
  }

  /** Whether no other caller has presented a token on a connection. */
  isSole(connection: object, { id }: Caller): boolean {
    const met = this.#met.get(connection);
    return met === undefined || (met.caller.id === id && !this.#shared.has(connection));
  }

  #stands({ key, until, caller }: AuthCacheEntry): boolean {
    const { cache, clock } = this.#env;
    const entry = cache.connected ? cache.get(key) : undefined;
    return entry !== undefined && value<StoredToken>(entry) === caller.token && clock.now() < until;
  }

  #meet(connection: object, header: string | undefined, identified: AuthResult): void {
    if (header === undefined || !('token' in identified) || !identified.token) return;
    const { id, expiresAt } = identified.token;
    if (this.#met.has(connection) && this.#met.get(connection)?.caller.id !== id) this.#shared.add(connection);
    this.#met.set(connection, { header, caller: identified, key: keys.token(id), until: Date.parse(expiresAt) });
  }
}
