import { isIPv4, isIPv6 } from 'node:net';

import { type ImageReference, parseImageReference } from '../../crds/grammar/index.js';

/** Where the manifest of an image is stored. */
export interface ImageLocation {
  readonly registry: Host;
  /** The path of the repository in that registry. */
  readonly repository: string;
  /** The digest if there is one, else the tag. */
  readonly reference: string;
  readonly digest?: string;
}

/** Why a reference has no location: it names no registry and there is no default, or the host is invalid. */
export type LocationProblem = 'no_registry' | 'host';

/**
 * Finds the registry that an engine would pull an image from.
 *
 * Engines take the first part of a name as a host when it has a dot, a port or a capital letter, or is `localhost`.
 * Everything else comes from the default registry, where a name without a path is short for one under `library/`.
 */
export function locateImage(
  reference: ImageReference,
  defaultRegistry: Host | undefined,
): ImageLocation | LocationProblem {
  const { name, domain, tag = '', digest } = reference;
  const named = domain !== undefined && isHost(domain);
  const registry = named ? parseHost(domain) : defaultRegistry;
  if (!registry) return named ? 'host' : 'no_registry';

  const path = named ? name.slice(domain.length + 1) : name;
  const repository = named || path.includes('/') ? path : `library/${path}`;
  return { registry, repository, reference: digest ?? tag, ...(digest !== undefined && { digest }) };
}

/** The registry of an image as image references name it, or the default. Undefined when it has none. */
export function findRegistryHost(image: string, defaultRegistry: string): string | undefined {
  const reference = parseImageReference(image);
  const location = reference && locateImage(reference, parseHost(defaultRegistry));
  return location === undefined || typeof location === 'string' ? undefined : location.registry.text;
}

function isHost(domain: string): boolean {
  return /[.:A-Z]/.test(domain) || domain === 'localhost';
}

/** A host in its canonical spelling. */
export interface Host {
  /** A DNS name or an address, lower case, without brackets. */
  readonly name: string;
  readonly port?: number;
  /** `name[:port]`, as image references, settings and credentials name it. */
  readonly text: string;
}

const HOST = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::([0-9]{1,5}))?$/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const NAME_MAX = 253;
const PORT_MAX = 65_535;

/**
 * Parses `name[:port]`; undefined when it is invalid.
 *
 * An address is accepted in its ordinary spelling only. `2130706433`, `127.1` and `0x7f.1` are addresses to some resolvers
 * and names to others, so they are refused.
 */
export function parseHost(text: string): Host | undefined {
  const [, written, digits] = HOST.exec(text.toLowerCase()) ?? [];
  if (written === undefined) return undefined;
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > PORT_MAX)) return undefined;

  const isPlain = isIPv4(written) || isName(written);
  const name = written.startsWith('[') ? normaliseAddress(written) : isPlain ? written : undefined;
  if (name === undefined) return undefined;
  const bare = isIPv6(name) ? `[${name}]` : name;
  return port === undefined ? { name, text: bare } : { name, port, text: `${bare}:${port}` };
}

/** Whether two hosts are the same listener; the default port is that of https. */
export function isSameHost(one: Host, other: Host): boolean {
  return one.name === other.name && (one.port ?? 443) === (other.port ?? 443);
}

/** The canonical spelling, which URL produces. */
function normaliseAddress(brackets: string): string | undefined {
  const inner = brackets.slice(1, -1);
  return isIPv6(inner) ? new URL(`http://${brackets}`).hostname.slice(1, -1) : undefined;
}

function isName(text: string): boolean {
  const labels = text.split('.');
  const last = labels.at(-1) as string;
  return text.length <= NAME_MAX && labels.every(label => LABEL.test(label)) && !/^(?:[0-9]+|0x[0-9a-f]*)$/.test(last);
}
