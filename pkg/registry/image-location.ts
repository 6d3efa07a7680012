import type { ImageReference } from '../../crds/grammar/index.js';
import { type Host, parseHost } from './host.js';

/** Where the manifest of an image is kept. */
export interface ImageLocation {
  readonly registry: Host;
  /** The path of the repository in that registry. */
  readonly repository: string;
  /** What the manifest is asked for by: the digest where there is one, else the tag. */
  readonly wanted: string;
  readonly digest?: string;
}

/** No location can be found in a reference: it names no registry and none is the default, or no host can be so called. */
export type Nowhere = 'no_registry' | 'host';

/**
 * Finds the registry that an engine would pull an image from.
 *
 * Engines take the first part of a name for a host when it could not be a path: it has a dot, a port or a capital
 * letter, or is `localhost`. Everything else comes from the default registry, where a name without a path is short for
 * one under `library/`.
 */
export function locate(reference: ImageReference, defaultRegistry: Host | undefined): ImageLocation | Nowhere {
  const { name, domain, tag = '', digest } = reference;
  const named = domain !== undefined && isHost(domain);
  const registry = named ? parseHost(domain) : defaultRegistry;
  if (!registry) return named ? 'host' : 'no_registry';

  const path = named ? name.slice(domain.length + 1) : name;
  const repository = named || path.includes('/') ? path : `library/${path}`;
  return { registry, repository, wanted: digest ?? tag, ...(digest !== undefined && { digest }) };
}

function isHost(domain: string): boolean {
  return /[.:A-Z]/.test(domain) || domain === 'localhost';
}
