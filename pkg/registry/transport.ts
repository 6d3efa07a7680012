import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';

import {
  type HttpExchangeRequest,
  type HttpExchangeResult,
  type RegistryResponse,
  type Scheme,
  sendHttp,
} from './http-exchange.js';
import type { Host } from './image-location.js';
import { type ImageCheck, toRefused, toUnreachable } from './image-check.js';
import { isListed, mayConnect, type RegistryPolicy } from './policy.js';

/** What one check is carried out with. */
export interface TransportEnv {
  readonly policy: RegistryPolicy;
  readonly resolve: HostResolver;
  /** CA certificates, where the machine's own are not enough. */
  readonly ca?: readonly string[];
  /** The end of the time that the check may take. */
  readonly signal: AbortSignal;
}

export type RegistryRequest = Pick<HttpExchangeRequest, 'method' | 'path' | 'headers'>;

/** An answer to go on from, or the end of the check. */
export type RegistryResult = RegistryResponse | ImageCheck;

export function isFinal(reached: RegistryResult): reached is ImageCheck {
  return 'outcome' in reached;
}

/**
 * The line to a registry and to its token server, for the length of one check.
 *
 * Each name is looked up once, every address it has is looked at, and only those addresses are ever connected to.
 */
export class RegistryTransport {
  readonly #env: TransportEnv;
  readonly #addresses = new Map<string, Promise<readonly string[]>>();
  /** What the registry speaks, once it has been heard. */
  #scheme: Scheme | undefined;

  constructor(env: TransportEnv) {
    this.#env = env;
  }

  /**
   * Asks the registry. One that is listed as insecure and does not speak TLS is asked without.
   *
   * That is settled by the first question, which never carries a credential: whoever cuts a later connection does not
   * get the credential in clear text.
   */
  async requestRegistry(host: Host, asked: RegistryRequest): Promise<RegistryResult> {
    const reached = await this.#exchange(this.#scheme ?? 'https', host, asked);
    const isFirst = this.#scheme === undefined;
    this.#scheme ??= 'https';
    if (!isFirst || !this.#env.policy.insecure.has(host.text) || !isUnencrypted(reached)) return endOr(reached);

    this.#scheme = 'http';
    return endOr(await this.#exchange('http', host, asked));
  }

  /** Asks a token server, whose URL has been judged. */
  async requestToken(url: URL, host: Host, headers: RegistryRequest['headers']): Promise<RegistryResult> {
    const scheme = url.protocol === 'http:' ? 'http' : 'https';
    return endOr(await this.#exchange(scheme, host, { method: 'GET', path: `${url.pathname}${url.search}`, headers }));
  }

  async #exchange(scheme: Scheme, host: Host, asked: RegistryRequest): Promise<HttpExchangeResult | ImageCheck> {
    const { policy, signal, ca } = this.#env;
    const addresses = await this.#addressesOf(host.name, isListed(policy, host));
    if (signal.aborted) return toUnreachable('late');
    if (addresses.length === 0) return toUnreachable('unknown_host');
    if (!mayConnect(policy, host, addresses)) return toRefused('address');
    return sendHttp({ scheme, host, addresses, ...asked, ...(ca && { ca }), signal });
  }

  #addressesOf(name: string, listed: boolean): Promise<readonly string[]> {
    const known = this.#addresses.get(name);
    if (known) return known;
    const { resolve, signal } = this.#env;
    const found =
      isIP(name) === 0
        ? withDeadline(
            signal,
            resolve(name, listed, signal).catch(() => []),
            [],
          )
        : Promise.resolve([name]);
    this.#addresses.set(name, found);
    return found;
  }
}

function isUnencrypted(reached: HttpExchangeResult | ImageCheck): boolean {
  return 'kind' in reached && reached.kind === 'failed' && ['no_tls', 'no_connection'].includes(reached.reason);
}

function endOr(reached: HttpExchangeResult | ImageCheck): RegistryResult {
  if ('outcome' in reached) return reached;
  return reached.kind === 'answer' ? reached.answer : toUnreachable(reached.reason);
}

/**
 * Finds the addresses of a name; an empty list when it has none.
 *
 * `listed` is true for a name that the operator chose.
 */
export type HostResolver = (name: string, listed: boolean, signal: AbortSignal) => Promise<readonly string[]>;

const TIMEOUT_MS = 2_000;
const TRIES = 2;

/**
 * Names that the operator chose are looked up as the machine does it, hosts file and search list included.
 *
 * Names that a tenant chose go to the DNS servers alone. The machine's own look-up holds one of a handful of threads until it is
 * answered, so a few names on a slow server would stop everything else that needs a thread.
 */
export const systemResolver: HostResolver = (name, listed, signal) =>
  listed ? lookUp(name) : askServers(name, signal);

async function lookUp(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}

async function askServers(name: string, signal: AbortSignal): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []));
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** What a piece of work comes to, or `late` when the signal is aborted first. The work goes on unheard. */
export function withDeadline<T>(signal: AbortSignal, work: Promise<T>, late: T): Promise<T> {
  if (signal.aborted) {
    work.catch(() => undefined);
    return Promise.resolve(late);
  }
  return new Promise((resolve, reject) => {
    const giveUp = () => resolve(late);
    signal.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
