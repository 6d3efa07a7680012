/** Crockford's base 32 in lower case: no i, l, o or u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** What an id begins with says what it is the id of. */
export type IdPrefix =
  | 'dep'
  | 'node'
  | 'evt'
  | 'rep'
  | 'req'
  | 'op'
  | 'log'
  | 'vol'
  | 'net'
  | 'job'
  | 'bak'
  | 'snap'
  | 'rec';

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
