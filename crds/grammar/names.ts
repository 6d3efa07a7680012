/** Longest DNS label. */
export const DNS_LABEL_MAX = 63;

/** The characters of a name, however many there are. */
export const DNS_LABEL_PATTERN = '^[a-z](?:[a-z0-9-]*[a-z0-9])?$';

const TEXT = new RegExp(DNS_LABEL_PATTERN);

/** Whether the characters are those of a name, however many there are. */
export function isDnsLabelText(text: string): boolean {
  return TEXT.test(text);
}

/** Lowercase letters, digits and hyphens, from a letter to a letter or digit, at most 63. */
export function isDnsLabel(text: string): boolean {
  return text.length <= DNS_LABEL_MAX && isDnsLabelText(text);
}

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const PREFIX_PART = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const PREFIX_MAX = 253;
const NAME_MAX = 63;

/** A label's key: a name, or a DNS name and `/` before it. */
export function isLabelKey(text: string): boolean {
  if (text.length > PREFIX_MAX + 1 + NAME_MAX) return false;
  const slash = text.indexOf('/');
  if (slash < 0) return isName(text);
  const prefix = text.slice(0, slash);
  return prefix.length <= PREFIX_MAX && prefix.split('.').every(isPrefixPart) && isName(text.slice(slash + 1));
}

/** A label's value: empty, or a name. */
export function isLabelValue(text: string): boolean {
  return text === '' || isName(text);
}

/** The platform, the engine and the router steer by labels that begin like this. */
export const RESERVED_LABELS = ['mooring.io/', 'com.docker.', 'traefik.'] as const;

/** Also `sub.mooring.io/x` and `traefik/x`: a reader that parses labels loosely must not mistake them for ours. */
export function isReservedLabel(key: string): boolean {
  const plain = key.toLowerCase();
  const domain = plain.split('/', 1)[0] ?? '';
  const isOurs = domain.endsWith('.mooring.io') || domain.startsWith('traefik');
  return isOurs || RESERVED_LABELS.some(prefix => plain.startsWith(prefix));
}

function isName(text: string): boolean {
  return text.length <= NAME_MAX && NAME.test(text);
}

function isPrefixPart(text: string): boolean {
  return text.length <= NAME_MAX && PREFIX_PART.test(text);
}

/** Crockford's base 32 in lower case: no i, l, o or u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

const ID_PREFIXES = [
  'dep',
  'node',
  'evt',
  'rep',
  'req',
  'op',
  'log',
  'vol',
  'net',
  'job',
  'bak',
  'snap',
  'rec',
] as const;

/** The beginning of an id: the kind of object that it belongs to. */
export type IdPrefix = (typeof ID_PREFIXES)[number];

/** Characters of chance in an id, five bits each. */
const CHARACTERS = 26;
const TAIL = /^[0-9a-hjkmnp-tv-z]{26}$/;

/** A new id such as `node_…`, from a source of random bytes. */
export function createTypedId(prefix: IdPrefix, randomBytes: (count: number) => Uint8Array): string {
  let id = `${prefix}_`;
  for (const byte of randomBytes(CHARACTERS)) id += ALPHABET[byte & 31];
  return id;
}

/** Whether a text has the form of an id of that kind. */
export function isTypedId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && TAIL.test(text.slice(prefix.length + 1));
}

const LONGEST = 40;

/** The known name that was probably meant, or undefined when none is near. */
export function findNearestName(given: string, known: readonly string[]): string | undefined {
  if (given.length > LONGEST) return undefined;
  const asked = plain(given);
  let best: string | undefined;
  let least = Math.floor(Math.max(asked.length, 3) / 3) + 1;
  for (const name of known) {
    const distance = editDistance(asked, plain(name));
    if (distance < least) {
      best = name;
      least = distance;
    }
  }
  return best;
}

/** Whether the two differ in case and separators only: `health_check` and `healthCheck`. */
export function isSameSpelling(given: string, known: string): boolean {
  return given.length <= LONGEST && plain(given) === plain(known);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll('_', '').replaceAll('-', '');
}

/** Insertions, deletions and replacements that turn one into the other. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = previous[column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[to.length]!;
}
