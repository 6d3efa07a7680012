/**
 * Tokens: how a caller authenticates.
 *
 * A token is `<prefix>_<public id>_<secret><checksum>`. Logs, lists and revocation use the public id; of the secret only an
 * HMAC is stored, with a pepper that is never in etcd, so a stolen etcd snapshot contains no usable token.
 *
 * `mintToken` creates a token and its record; the text is shown once and stored nowhere. `parseToken` refuses typing
 * errors without a look-up. `verifyToken` compares in constant time, also when there is no record.
 *
 * It leaves to others where records are stored, what a role may do, and rate limits.
 *
 * @module
 */
import { crc32 } from 'node:zlib';

import type { StoredToken, TokenKind } from '../../crds/tenant/index.js';
import type { Clock, Random } from '../clock/index.js';
import type { Keyring } from './keyring.js';

export * from './keyring.js';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = 62n;

/** Encodes bytes, as one big-endian number, in exactly `width` base-62 digits; higher digits are cut off. */
export function encodeBase62(bytes: Buffer, width: number): string {
  let rest = bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
  let digits = '';
  for (let digit = 0; digit < width; digit++, rest /= BASE) digits = ALPHABET[Number(rest % BASE)] + digits;
  return digits;
}

/** The same for a number that needs no BigInt. */
export function encodeBase62Number(value: number, width: number): string {
  let digits = '';
  for (let rest = value, digit = 0; digit < width; digit++, rest = Math.floor(rest / 62)) {
    digits = ALPHABET[rest % 62] + digits;
  }
  return digits;
}

const PREFIXES: Readonly<Record<TokenKind, string>> = { tenant: 'mtk', admin: 'mad', node: 'mnd', join: 'mjn' };
const KINDS: Readonly<Record<string, TokenKind>> = { mtk: 'tenant', mad: 'admin', mnd: 'node', mjn: 'join' };

const ID_DIGITS = 16;
const SECRET_DIGITS = 43;
const CHECKSUM_DIGITS = 6;
const FORM = /^(mtk|mad|mnd|mjn)_([0-9A-Za-z]{16})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** The longest text that can be a token. */
const LENGTH = 4 + ID_DIGITS + 1 + SECRET_DIGITS + CHECKSUM_DIGITS;

/** The parts of a token, before it is verified. */
export interface ParsedToken {
  readonly kind: TokenKind;
  readonly id: string;
  readonly secret: string;
}

/** Writes a token from 96 random bits of public id and 256 of secret. */
export function formatToken(kind: TokenKind, id: Buffer, secret: Buffer): string {
  const body = `${PREFIXES[kind]}_${encodeBase62(id, ID_DIGITS)}_${encodeBase62(secret, SECRET_DIGITS)}`;
  return body + checksum(body);
}

/** Parses a token. Undefined for anything that `formatToken` did not write, down to a single wrong letter. */
export function parseToken(text: string): ParsedToken | undefined {
  if (text.length !== LENGTH) return undefined;
  const [, prefix, id, secret, sum] = FORM.exec(text) ?? [];
  if (!prefix || !id || !secret || checksum(text.slice(0, -CHECKSUM_DIGITS)) !== sum) return undefined;
  return { kind: KINDS[prefix]!, id, secret };
}

function checksum(body: string): string {
  return encodeBase62Number(crc32(body), CHECKSUM_DIGITS);
}

export type TokenDraft = Omit<StoredToken, 'id' | 'digest' | 'createdAt' | 'expiresAt' | 'usedBy'> & {
  readonly lifeSeconds: number;
};

/** A new token: the text, which is shown once, and the record, which does not contain its secret. */
export interface MintedToken {
  readonly text: string;
  readonly stored: StoredToken;
}

const ID_BYTES = 12;
const SECRET_BYTES = 32;

export function mintToken(
  { lifeSeconds, ...draft }: TokenDraft,
  {
    keyring,
    clock,
    random,
  }: { readonly keyring: Keyring; readonly clock: Pick<Clock, 'now'>; readonly random: Random },
): MintedToken {
  const text = formatToken(draft.kind, random.bytes(ID_BYTES), random.bytes(SECRET_BYTES));
  const { id, secret } = parseToken(text)!;
  const now = clock.now();
  const stored: StoredToken = {
    ...draft,
    id,
    digest: keyring.digest(secret),
    createdAt: new Date(now).toISOString(),
    expiresAt: new Date(now + lifeSeconds * 1000).toISOString(),
  };
  return { text, stored };
}

/** Whether a token is valid, and why not: for the log only, callers learn just that it is invalid. */
export type Verification =
  | { readonly ok: true; readonly token: StoredToken }
  | { readonly ok: false; readonly because: 'unknown' | 'secret' | 'kind' | 'expired' };

/** Compared with when there is no record, so that an unknown id takes as long as a wrong secret. */
const DUMMY_DIGEST = '00'.repeat(32);

/** Checks a token against its record, at wall time `now`. */
export function verifyToken(
  presented: ParsedToken,
  stored: StoredToken | undefined,
  keyring: Keyring,
  now: number,
): Verification {
  const same = keyring.matches(presented.secret, stored?.digest ?? DUMMY_DIGEST);
  if (!stored) return { ok: false, because: 'unknown' };
  if (!same) return { ok: false, because: 'secret' };
  if (stored.kind !== presented.kind) return { ok: false, because: 'kind' };
  if (!(now < Date.parse(stored.expiresAt))) return { ok: false, because: 'expired' };
  return { ok: true, token: stored };
}
