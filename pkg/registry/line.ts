import { isIP } from 'node:net';

import { type Answer, type Exchange, exchange, type Question, type Scheme } from './exchange.js';
import type { Host } from './host.js';
import type { Names } from './names.js';
import { type ImageCheck, refused, unreachable } from './outcome.js';
import { isListed, mayConnect, type RegistryPolicy } from './policy.js';
import { within } from './within.js';

/** What one check is carried out with. */
export interface LineEnv {
  readonly policy: RegistryPolicy;
  readonly names: Names;
  /** CA certificates, where the machine's own are not enough. */
  readonly ca?: readonly string[];
  /** The end of the time that the check may take. */
  readonly signal: AbortSignal;
}

export type Asked = Pick<Question, 'method' | 'path' | 'headers'>;

/** An answer to go on from, or the end of the check. */
export type Reached = Answer | ImageCheck;

export function isEnd(reached: Reached): reached is ImageCheck {
  return 'outcome' in reached;
}

/**
 * The line to a registry and to its token server, for the length of one check.
 *
 * Each name is looked up once, every address it has is looked at, and only those addresses are ever connected to.
 */
export class Line {
  readonly #env: LineEnv;
  readonly #addresses = new Map<string, Promise<readonly string[]>>();
  /** What the registry speaks, once it has been heard. */
  #scheme: Scheme | undefined;

  constructor(env: LineEnv) {
    this.#env = env;
  }

  /**
   * Asks the registry. One that is listed as insecure and does not speak TLS is asked without.
   *
   * That is settled by the first question, which never carries a credential: whoever cuts a later connection does not
   * get the credential in clear text.
   */
  async askRegistry(host: Host, asked: Asked): Promise<Reached> {
    const reached = await this.#exchange(this.#scheme ?? 'https', host, asked);
    const isFirst = this.#scheme === undefined;
    this.#scheme ??= 'https';
    if (!isFirst || !this.#env.policy.insecure.has(host.text) || !isUnencrypted(reached)) return endOr(reached);

    this.#scheme = 'http';
    return endOr(await this.#exchange('http', host, asked));
  }

  /** Asks a token server, whose URL has been judged. */
  async askRealm(url: URL, host: Host, headers: Asked['headers']): Promise<Reached> {
    const scheme = url.protocol === 'http:' ? 'http' : 'https';
    return endOr(await this.#exchange(scheme, host, { method: 'GET', path: `${url.pathname}${url.search}`, headers }));
  }

  async #exchange(scheme: Scheme, host: Host, asked: Asked): Promise<Exchange | ImageCheck> {
    const { policy, signal, ca } = this.#env;
    const addresses = await this.#addressesOf(host.name, isListed(policy, host));
    if (signal.aborted) return unreachable('late');
    if (addresses.length === 0) return unreachable('unknown_host');
    if (!mayConnect(policy, host, addresses)) return refused('address');
    return exchange({ scheme, host, addresses, ...asked, ...(ca && { ca }), signal });
  }

  #addressesOf(name: string, listed: boolean): Promise<readonly string[]> {
    const known = this.#addresses.get(name);
    if (known) return known;
    const { names, signal } = this.#env;
    const found =
      isIP(name) === 0
        ? within(
            signal,
            names(name, listed, signal).catch(() => []),
            [],
          )
        : Promise.resolve([name]);
    this.#addresses.set(name, found);
    return found;
  }
}

function isUnencrypted(reached: Exchange | ImageCheck): boolean {
  return 'kind' in reached && reached.kind === 'failed' && ['no_tls', 'no_connection'].includes(reached.reason);
}

function endOr(reached: Exchange | ImageCheck): Reached {
  if ('outcome' in reached) return reached;
  return reached.kind === 'answer' ? reached.answer : unreachable(reached.reason);
}
