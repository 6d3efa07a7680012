import { keys } from '../../crds/keys/index.js';
import type { StoredToken } from '../../crds/tenant/index.js';
import { value } from '../../pkg/store/index.js';
import { authenticate, type AuthenticationEnv, type Identified } from './authenticate.js';
import type { Caller } from './caller.js';

interface Acquaintance {
  readonly header: string;
  readonly caller: Caller;
  /** Where the record of the token stands. */
  readonly key: string;
  readonly until: number;
}

/**
 * Who called last on each connection: the same header on the same connection need not be proven again, for as long as
 * the record of its token is the very one it was proven by. A connection is compared with nobody's header but its own.
 */
export class Acquaintances {
  readonly #env: AuthenticationEnv;
  readonly #met = new WeakMap<object, Acquaintance>();

  constructor(env: AuthenticationEnv) {
    this.#env = env;
  }

  /** Establishes who is calling on a connection, as `authenticate` does. */
  identify(connection: object, header: string | undefined): Identified | Promise<Identified> {
    const met = this.#met.get(connection);
    if (met && met.header === header && this.#stands(met)) return met.caller;
    const identified = authenticate(this.#env, header);
    if (!(identified instanceof Promise)) this.#meet(connection, header, identified);
    return identified;
  }

  #stands({ key, until, caller }: Acquaintance): boolean {
    const { cache, clock } = this.#env;
    const entry = cache.connected ? cache.get(key) : undefined;
    return entry !== undefined && value<StoredToken>(entry) === caller.token && clock.now() < until;
  }

  #meet(connection: object, header: string | undefined, identified: Identified): void {
    if (header === undefined || !('token' in identified) || !identified.token) return;
    const { id, expiresAt } = identified.token;
    this.#met.set(connection, { header, caller: identified, key: keys.token(id), until: Date.parse(expiresAt) });
  }
}
