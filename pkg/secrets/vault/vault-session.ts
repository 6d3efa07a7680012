import type { Cancel, Clock } from '../../clock/index.js';
import { SecretStoreLoginFault, SecretStoreUnavailableFault } from '../faults.js';
import { Secret } from '../secret.js';
import type { VaultHttp } from './vault-http.js';

/** How the platform says who it is. The texts are asked for whenever they are needed, so that a file may change. */
export type VaultLogin =
  | { readonly kind: 'token'; readonly token: () => Secret }
  | {
      readonly kind: 'approle';
      readonly roleId: () => Secret;
      readonly secretId: () => Secret;
      /** Where AppRole is mounted; `approle` unless told. */
      readonly mount?: string;
    };

interface Grant {
  readonly token: Secret;
  readonly seconds: number;
  readonly renewable: boolean;
}

/** When a token is renewed: after this part of its life. */
const RENEW_AT = 2 / 3;

/** The longest wait that a timer can hold. */
const LONGEST_MS = 2 ** 31 - 1;

/** One login to the server: a token that is kept alive, and made anew when it has died. */
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

  /** The token to use now. All who ask while a login is under way wait for the same one. */
  async token(): Promise<Secret> {
    this.#grant ??= this.#enter();
    const grant = this.#grant;
    try {
      return (await grant).token;
    } catch (thrown) {
      if (this.#grant === grant) this.#grant = undefined;
      throw thrown;
    }
  }

  /**
   * After a 403: a new token to try again with, when the refused one is dead; undefined when it lives, so that the
   * refusal was meant. Throws a login fault when there is no living one to be had.
   */
  async after(refused: Secret): Promise<Secret | undefined> {
    if ((await this.#lookUp(refused)) !== undefined) return undefined;
    if ((await this.token()).equals(refused)) this.#forget();
    const fresh = await this.token();
    if (fresh.equals(refused)) {
      throw new SecretStoreLoginFault('the secrets server does not accept the token of the platform');
    }
    return fresh;
  }

  close(): void {
    this.#closed = true;
    this.#forget();
  }

  async #enter(): Promise<Grant> {
    const grant = this.#login.kind === 'token' ? await this.#entered(this.#login.token()) : await this.#logIn();
    this.#plan(grant);
    return grant;
  }

  /** A token from outside: how long it lives is asked, where it may ask. */
  async #entered(token: Secret): Promise<Grant> {
    return (await this.#lookUp(token)) ?? { token, seconds: 0, renewable: false };
  }

  async #logIn(): Promise<Grant> {
    if (this.#login.kind !== 'approle') throw new SecretStoreLoginFault('there is no role to log in with');
    const { roleId, secretId, mount = 'approle' } = this.#login;
    const body = { role_id: roleId().reveal(), secret_id: secretId().reveal() };
    const answer = await this.#ask('POST', `auth/${mount}/login`, { body });
    const { client_token: token, lease_duration: seconds, renewable } = part(answer.body, 'auth');
    if (answer.status !== 200 || typeof token !== 'string') {
      throw new SecretStoreLoginFault('the secrets server does not accept the role of the platform');
    }
    return { token: new Secret(token), seconds: Number(seconds) || 0, renewable: renewable === true };
  }

  /** What the server says about a token, or undefined when the token may not even ask. */
  async #lookUp(token: Secret): Promise<Grant | undefined> {
    const { status, body } = await this.#ask('GET', 'auth/token/lookup-self', { token });
    if (status !== 200) return undefined;
    const { ttl, renewable } = part(body, 'data');
    return { token, seconds: Number(ttl) || 0, renewable: renewable === true };
  }

  #plan({ token, seconds, renewable }: Grant): void {
    this.#cancel();
    if (seconds <= 0 || this.#closed) return;
    const ms = Math.min(seconds * 1000 * RENEW_AT, LONGEST_MS);
    const held = this.#grant;
    this.#cancel = this.#clock.after(ms, () => (renewable ? void this.#renew(token, held) : this.#forget()));
  }

  /** A token that cannot be renewed is let go: the next who needs one logs in. `held` is the grant that it came with. */
  async #renew(token: Secret, held: Promise<Grant> | undefined): Promise<void> {
    const renewed = await this.#renewed(token).catch(() => undefined);
    if (this.#grant !== held) return;
    if (renewed) this.#plan(renewed);
    else this.#forget();
  }

  async #renewed(token: Secret): Promise<Grant | undefined> {
    const { status, body } = await this.#ask('POST', 'auth/token/renew-self', { token, body: {} });
    const { lease_duration: seconds, renewable } = part(body, 'auth');
    return status === 200 ? { token, seconds: Number(seconds) || 0, renewable: renewable === true } : undefined;
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
      // A login whose answer was lost changed nothing that anybody relies on.
      throw new SecretStoreUnavailableFault('the secrets server did not answer a login', { cause: thrown });
    }
  }
}

/** The named part of an answer, whatever it holds. */
function part(body: unknown, name: string): Readonly<Record<string, unknown>> {
  const found = (body as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
}
