import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';

import { type HttpExchangeRequest, isFinal, type RegistryResult, type Scheme, sendHttp } from './http-exchange.js';
import type { Host } from './image-location.js';
import { toRefused, toUnreachable } from './image-check.js';
import { isListed, mayConnect, type RegistryPolicy } from './policy.js';

export interface TransportEnv {
  readonly policy: RegistryPolicy;
  readonly resolve: HostResolver;
  /** CA certificates, when the system's are not enough. */
  readonly ca?: readonly string[];
  /** Aborted at the deadline of the check. */
  readonly signal: AbortSignal;
}

export type RegistryRequest = Pick<HttpExchangeRequest, 'method' | 'path' | 'headers'>;

/**
 * Requests to a registry and its token server during one check.
 *
 * Each name is resolved once, all its addresses are checked against the policy, and only those are connected to. So a DNS
 * answer that changes during the check has no effect.
 */
export class RegistryTransport {
  readonly #env: TransportEnv;
  readonly #addresses = new Map<string, Promise<readonly string[]>>();
  /** The scheme of the registry, known after the first request. */
  #scheme: Scheme | undefined;

  constructor(env: TransportEnv) {
    this.#env = env;
  }

  /**
   * Sends a request to the registry; without TLS when it is listed as insecure and does not support TLS.
   *
   * The first request decides that, and it never carries a credential: an attacker who cuts a later connection cannot
   * downgrade it to get the credential in clear text.
   */
  async requestRegistry(host: Host, request: RegistryRequest): Promise<RegistryResult> {
    const result = await this.#exchange(this.#scheme ?? 'https', host, request);
    const isFirst = this.#scheme === undefined;
    this.#scheme ??= 'https';
    if (!isFirst || !this.#env.policy.insecure.has(host.text) || !mayLackTls(result)) return result;

    this.#scheme = 'http';
    return this.#exchange('http', host, request);
  }

  /** Requests a token from a token server that the policy allows. */
  requestToken(url: URL, host: Host, headers: RegistryRequest['headers']): Promise<RegistryResult> {
    const scheme = url.protocol === 'http:' ? 'http' : 'https';
    return this.#exchange(scheme, host, { method: 'GET', path: `${url.pathname}${url.search}`, headers });
  }

  async #exchange(scheme: Scheme, host: Host, request: RegistryRequest): Promise<RegistryResult> {
    const { policy, signal, ca } = this.#env;
    const addresses = await this.#resolveOnce(host.name, isListed(policy, host));
    if (signal.aborted) return toUnreachable('late');
    if (addresses.length === 0) return toUnreachable('unknown_host');
    if (!mayConnect(policy, host, addresses)) return toRefused('address');
    return sendHttp({ scheme, host, addresses, ...request, ...(ca && { ca }), signal });
  }

  #resolveOnce(name: string, listed: boolean): Promise<readonly string[]> {
    const known = this.#addresses.get(name);
    if (known) return known;
    const { resolve, signal } = this.#env;
    const resolveName = () =>
      withDeadline<readonly string[]>(signal, resolve(name, listed, signal), []).catch(() => []);
    const addresses = isIP(name) === 0 ? resolveName() : Promise.resolve([name]);
    this.#addresses.set(name, addresses);
    return addresses;
  }
}

function mayLackTls(result: RegistryResult): boolean {
  if (!isFinal(result) || result.outcome !== 'unreachable') return false;
  return result.reason === 'no_tls' || result.reason === 'no_connection';
}

/**
 * Resolves a name to its addresses; empty when it has none.
 *
 * `listed` is true for a name that the operator listed.
 */
export type HostResolver = (name: string, listed: boolean, signal: AbortSignal) => Promise<readonly string[]>;

const TIMEOUT_MS = 2_000;
const TRIES = 2;

/**
 * Names that the operator listed are resolved by the system, hosts file and search list included.
 *
 * Names that a tenant chose go to the DNS servers directly. The system's resolver blocks one of few threads until it is
 * done, so some names on a slow server would stop everything else that needs a thread.
 */
export const systemResolver: HostResolver = async (name, listed, signal) => {
  if (listed) return resolveBySystem(name);
  return LOCALHOST.test(name) ? LOOPBACK : resolveByDns(name, signal);
};

/** Names that mean this machine by definition (RFC 6761): DNS servers need not know them, but engines do. */
const LOCALHOST = /(?:^|\.)localhost\.?$/i;
const LOOPBACK = ['127.0.0.1', '::1'];

async function resolveBySystem(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

async function resolveByDns(name: string, signal: AbortSignal): Promise<readonly string[]> {
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

/** The result of the work, or `late` when the signal is aborted first. The work itself is not stopped. */
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
