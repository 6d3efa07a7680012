/** A shorter value cannot be distinguished from other text. */
const SHORTEST = 6;

/** What the value of a secret may look like in text: as it is, a password that stands in it, a line of it, or encoded. */
export function listForms(secret: string): readonly string[] {
  const lines = secret.split(/\r\n?|\n/);
  return [...[secret, ...listPasswords(secret)].flatMap(encodeAll), ...lines].filter(isFindable);
}

/** Whether a value, and each password that stands in it, can be distinguished from other text. */
export function isClearable(secret: string): boolean {
  return [secret, ...listPasswords(secret)].every(isFindable);
}

function isFindable(text: string): boolean {
  return removeGaps(text).length >= SHORTEST;
}

/** Encoded values are wrapped at any place: what wraps them is left out of texts and values before they are compared. */
export const GAP = /[\s\p{Cc}]/u;

export function removeGaps(text: string): string {
  return text.split(GAP).join('');
}

function encodeAll(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const url = encodeUrl(value);
  const json = encodeJson(value);
  return [
    value,
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    ...listBase64(bytes, 'base64'),
    ...listBase64(bytes, 'base64url'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    json,
    encodeJson(json), // JSON in a line of a log that is JSON
    url,
    url.replace(/%[0-9A-F]{2}/g, code => code.toLowerCase()),
    url.replaceAll('%20', '+'),
  ];
}

/** A value in base64, wherever in the encoded text it begins: the digits that hold no bit of anything else. */
function listBase64(bytes: Buffer, encoding: 'base64' | 'base64url'): readonly string[] {
  return [0, 1, 2].flatMap(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString(encoding);
    const digits = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return digits.length >= SHORTEST ? [digits] : [];
  });
}

function encodeJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** Half of a surrogate pair cannot be encoded; it is replaced, as it is when the value becomes bytes. */
function encodeUrl(value: string): string {
  return encodeURIComponent(Buffer.from(value).toString());
}

/** `scheme://user:password@host`: up to the last `@` before the host ends. */
const IN_URL = /:\/\/[^:/?#\s]{0,2048}:([^/?#\s]{1,2048})@/g;
/** `host=db password=… user=app`, `Server=db;Pwd='…'`, `?password=…&`, `PASSWORD: …`. */
const IN_DSN =
  /(?:password|passwd|pwd|passphrase|secret|token|api_?key)["']?\s{0,8}[=:]\s{0,8}("[^"]{1,2048}"|'[^']{1,2048}'|[^;&\s,}]{1,2048})/gi;

/**
 * The passwords in a value that holds more: a connection string, a URL, lines of a configuration. Programs print them alone.
 * Each also as it is when it is decoded.
 */
function listPasswords(value: string): readonly string[] {
  const found = [IN_URL, IN_DSN].flatMap(pattern => [...value.matchAll(pattern)].map(match => match[1] ?? ''));
  const bare = found.map(part => part.replace(/^(["'])(.*)\1$/s, '$2'));
  return bare.flatMap(part => [part, decodeUrl(part)]);
}

function decodeUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Where a pattern ends in a text, overlapping places too, and how many of its first characters the text ends with. Each character is
 * read a fixed number of times, whatever repeats itself (Knuth, Morris and Pratt).
 */
export function scanText(text: string, pattern: string): { readonly ends: readonly number[]; readonly rest: number } {
  const borders = listBorders(pattern);
  const ends: number[] = [];
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    if (length === pattern.length) length = borders[length - 1] ?? 0;
    length = extend(pattern, borders, length, text[at]!);
    if (length === pattern.length && length > 0) ends.push(at + 1);
  }
  return { ends, rest: length };
}

/** For each beginning of the pattern: how long the longest shorter beginning is that it ends with. */
function listBorders(pattern: string): readonly number[] {
  const borders = [0];
  for (let at = 1; at < pattern.length; at++) borders.push(extend(pattern, borders, borders[at - 1]!, pattern[at]!));
  return borders;
}

function extend(pattern: string, borders: readonly number[], length: number, next: string): number {
  let matched = length;
  while (matched > 0 && pattern[matched] !== next) matched = borders[matched - 1]!;
  return pattern[matched] === next ? matched + 1 : 0;
}
