/** A reference to an image, in the grammar of distribution/reference. */
export interface ImageReference {
  /** Registry and path, as written. */
  readonly name: string;
  /** The part before the first `/`, where it can be a host. */
  readonly domain?: string;
  readonly tag?: string;
  readonly digest?: string;
}

const DOMAIN_PART = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const HOST = String.raw`(?:${DOMAIN_PART}(?:\.${DOMAIN_PART})*|\[[a-fA-F0-9:]+\])`;
const PATH_PART = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const PATH = `${PATH_PART}(?:/${PATH_PART})*`;
const REFERENCE = new RegExp(
  String.raw`^((?:(${HOST}(?::[0-9]+)?)/)?(${PATH}))(?::([a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}))?(?:@([a-z0-9]+:[a-f0-9]+))?$`,
);

/** Hexadecimal digits of each digest algorithm that registries take. */
const DIGEST_DIGITS: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };

const NAME_MAX = 255;
const REFERENCE_MAX = NAME_MAX + 128 + 140;

/** Reads a reference; undefined when it is none. */
export function parseImageReference(text: string): ImageReference | undefined {
  if (text.length > REFERENCE_MAX) return undefined;
  const match = REFERENCE.exec(text);
  if (!match) return undefined;

  const [, name = '', domain, , tag, digest] = match;
  if (name.length > NAME_MAX || isLocalId(name)) return undefined;
  if (digest !== undefined && !isDigest(digest)) return undefined;
  return {
    name,
    ...(domain === undefined ? {} : { domain }),
    ...(tag === undefined ? {} : { tag }),
    ...(digest === undefined ? {} : { digest }),
  };
}

/** Whether a reference names one image for good: by a digest, or by a tag other than `latest`. */
export function isPinned(reference: ImageReference): boolean {
  return reference.tag !== 'latest' && (reference.tag !== undefined || reference.digest !== undefined);
}

/** `sha256:…` is no tag of an image: engines take it, and each beginning of it, for the id of any image they have. */
function isLocalId(name: string): boolean {
  return Object.hasOwn(DIGEST_DIGITS, name);
}

function isDigest(text: string): boolean {
  const [algorithm = '', digits = ''] = text.split(':');
  return digits.length === DIGEST_DIGITS[algorithm];
}

/** The namespace of the tenants' logins to registries. */
export const REGISTRIES = 'registries';

/** The label of the login for a registry, given as `name[:port]`: `registry-example-com-5000`. */
export function toRegistryLabel(host: string): string {
  return host
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
