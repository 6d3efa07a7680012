import type { Cancel, Clock } from '../../clock/index.js';
import { SecretStoreLoginFault, SecretStoreUnavailableFault } from '../faults.js';
import { Secret } from '../secret.js';
import type { VaultHttp } from './vault-http.js';

/** The credentials of the platform. They are read whenever they are needed, so that a file may change. */
export type VaultLogin =
  | { readonly kind: 'token'; readonly token: () => Secret }
  | {
      readonly kind: 'approle';
      readonly roleId: () => Secret;
      readonly secretId: () => Secret;
      /** Mount of the AppRole method; default `approle`. */
      readonly mount?: string;
    };

interface Grant {
  readonly token: Secret;
  readonly seconds: number;
  readonly renewable: boolean;
}

/** A token is renewed after this part of its life. */
const RENEW_AT = 2 / 3;

/** The longest delay of a timer. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** One login to the server: a token that is renewed, and replaced when it has expired. */
export class VaultSession {
  readonly #http: VaultHttp;
  readonly #login: VaultLogin;
  readonly #clock: Clock;
  readonly #namespace: string | undefined;
  #grant: Promise<Grant> | undefined;
  #cancel: Cancel = () => undefined;
  #closed = false;

  constructor(options: { http: VaultHttp; login: VaultLogin; clock: Clock; namespace?: string | undefined }) {
    this.#http = options.http;
    this.#login = options.login;
    this.#clock = options.clock;
    this.#namespace = options.namespace;
  }

  /** The current token. Concurrent callers wait for the same login. */
  async token(): Promise<Secret> {
    this.#grant ??= this.#open();
    const grant = this.#grant;
    try {
      return (await grant).token;
    } catch (thrown) {
      if (this.#grant === grant) this.#grant = undefined;
      throw thrown;
    }
  }

  /**
   * After a 403: a new token to retry with when the refused one has expired; undefined when it is valid, so that the path
   * really is forbidden. Throws a login fault when no valid token can be obtained.
   */
  async replaceToken(refused: Secret): Promise<Secret | undefined> {
    if ((await this.#lookUp(refused)) !== undefined) return undefined;
    if ((await this.token()).equals(refused)) this.#forget();
    const fresh = await this.token();
    if (fresh.equals(refused)) {
      throw new SecretStoreLoginFault(
        'the secrets server rejects the token of the platform: put a valid one into vaultTokenFile',
      );
    }
    return fresh;
  }

  close(): void {
    this.#closed = true;
    this.#forget();
  }

  async #open(): Promise<Grant> {
    const login = this.#login;
    const grant = login.kind === 'approle' ? await this.#logIn(login) : await this.#adoptToken(login.token());
    this.#scheduleRenewal(grant);
    return grant;
  }

  /** A configured token. Its lifetime is looked up when its policy allows that. */
  async #adoptToken(token: Secret): Promise<Grant> {
    return (await this.#lookUp(token)) ?? { token, seconds: 0, renewable: false };
  }

  async #logIn({ roleId, secretId, mount = 'approle' }: Extract<VaultLogin, { kind: 'approle' }>): Promise<Grant> {
    const body = { role_id: roleId().reveal(), secret_id: secretId().reveal() };
    const answer = await this.#ask('POST', `auth/${mount}/login`, { body });
    const { client_token: token, lease_duration, renewable } = part(answer.body, 'auth');
    if (answer.status === 200 && typeof token === 'string')
      return toGrant(new Secret(token), lease_duration, renewable);
    throw new SecretStoreLoginFault(
      'the secrets server rejects the AppRole login of the platform: check the role id and the secret id',
    );
  }

  /** The lifetime of a token; undefined when it is invalid or may not look itself up. */
  async #lookUp(token: Secret): Promise<Grant | undefined> {
    const { status, body } = await this.#ask('GET', 'auth/token/lookup-self', { token });
    if (status !== 200) return undefined;
    const { ttl, renewable } = part(body, 'data');
    return toGrant(token, ttl, renewable);
  }

  #scheduleRenewal({ token, seconds, renewable }: Grant): void {
    this.#cancel();
    if (seconds <= 0 || this.#closed) return;
    const ms = Math.min(seconds * 1000 * RENEW_AT, TIMER_MAX_MS);
    const held = this.#grant;
    this.#cancel = this.#clock.after(ms, () => (renewable ? void this.#renew(token, held) : this.#forget()));
  }

  /** Renews a token, or drops it: the next caller logs in. `held` is the grant that it came with. */
  async #renew(token: Secret, held: Promise<Grant> | undefined): Promise<void> {
    const renewed = await this.#requestRenewal(token).catch(() => undefined);
    if (this.#grant !== held) return;
    if (renewed) this.#scheduleRenewal(renewed);
    else this.#forget();
  }

  async #requestRenewal(token: Secret): Promise<Grant | undefined> {
    const { status, body } = await this.#ask('POST', 'auth/token/renew-self', { token, body: {} });
    const { lease_duration, renewable } = part(body, 'auth');
    return status === 200 ? toGrant(token, lease_duration, renewable) : undefined;
  }

  #forget(): void {
    this.#cancel();
    this.#grant = undefined;
  }

  async #ask(method: 'GET' | 'POST', path: string, more: { token?: Secret; body?: unknown }) {
    const namespace = this.#namespace;
    try {
      return await this.#http.call({ method, path, ...more, ...(namespace !== undefined && { namespace }) });
    } catch (thrown) {
      if (thrown instanceof SecretStoreUnavailableFault) throw thrown;
      // A login without a response changed nothing that matters.
      throw new SecretStoreUnavailableFault('the secrets server did not respond to a login', { cause: thrown });
    }
  }
}

function toGrant(token: Secret, seconds: unknown, renewable: unknown): Grant {
  return { token, seconds: Number(seconds) || 0, renewable: renewable === true };
}

/** The named object of a response; empty when it is missing. */
function part(body: unknown, name: string): Readonly<Record<string, unknown>> {
  const found = (body as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
}
