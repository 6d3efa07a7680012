import { isIP } from 'node:net';

import { isPinned, parseImageReference } from '../../crds/grammar/index.js';
import type { RefusedReason } from './image-check.js';
import { type Host, locateImage, parseHost } from './image-location.js';
import { isListed, mayCheck, mayConnect, type RegistryPolicy } from './policy.js';
import { type HostResolver, withDeadline } from './transport.js';

/** What the control plane sends to agents about registries: its own settings, as far as a pull depends on them. */
export interface RegistryRules {
  readonly allow: readonly string[];
  readonly insecure: readonly string[];
  readonly default: string;
}

/** Why an image may not be pulled; `unknown_host` when its registry has no address. */
export type PullRejection = RefusedReason | 'unknown_host';

/**
 * Decides whether a node may run and pull an image: by the rules of the image checks, so a tenant cannot make the
 * container engine contact an address that the API server would not.
 *
 * The engine resolves the name again, so a DNS answer that changes in between is not covered: the status shows nothing of
 * what the engine read there.
 */
export class PullPolicy {
  readonly #policy: RegistryPolicy;
  readonly #resolve: HostResolver | undefined;

  /** Without a resolver, addresses are not checked: for engines that contact no registry. */
  constructor(rules: RegistryRules, resolve?: HostResolver) {
    const canonical = (hosts: readonly string[]) => new Set(hosts.map(host => parseHost(host)?.text ?? host));
    const defaultRegistry = parseHost(rules.default);
    this.#policy = {
      allow: canonical(rules.allow),
      insecure: canonical(rules.insecure),
      realms: new Map(),
      ...(defaultRegistry && { defaultRegistry }),
    };
    this.#resolve = resolve;
  }

  /** Why the image may not be run, whether or not it is present. Undefined when it may. */
  checkImage(image: string): RefusedReason | undefined {
    const location = this.#locate(image);
    if (location === 'host') return 'host';
    const { allow } = this.#policy;
    if (location === 'no_registry') return allow.size === 0 ? undefined : 'not_listed';
    return mayCheck(this.#policy, location) ? undefined : 'not_listed';
  }

  /** Why the image may not be pulled. The registry that the engine uses by itself is the operator's choice. */
  async checkPull(image: string, signal: AbortSignal): Promise<PullRejection | undefined> {
    const refused = this.checkImage(image);
    const location = this.#locate(image);
    if (refused !== undefined || typeof location === 'string' || !this.#resolve) return refused;

    const addresses = await this.#findAddresses(location, this.#resolve, signal);
    if (addresses.length === 0) return 'unknown_host';
    return mayConnect(this.#policy, location, addresses) ? undefined : 'address';
  }

  #findAddresses(host: Host, resolve: HostResolver, signal: AbortSignal): Promise<readonly string[]> {
    if (isIP(host.name) !== 0) return Promise.resolve([host.name]);
    const resolving = resolve(host.name, isListed(this.#policy, host), signal);
    return withDeadline<readonly string[]>(signal, resolving, []).catch(() => []);
  }

  #locate(image: string): Host | 'host' | 'no_registry' {
    const reference = parseImageReference(image);
    if (!reference || !isPinned(reference)) return 'host'; // without a tag, engines may take a name for an id
    const location = locateImage(reference, this.#policy.defaultRegistry);
    return typeof location === 'string' ? location : location.registry;
  }
}
