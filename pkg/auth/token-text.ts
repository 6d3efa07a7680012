import { crc32 } from 'node:zlib';

import type { TokenKind } from '../../crds/tenant/index.js';
import { base62, base62Number } from './base62.js';

const PREFIXES: Readonly<Record<TokenKind, string>> = { tenant: 'mtk', admin: 'mad', node: 'mnd', join: 'mjn' };
const KINDS: Readonly<Record<string, TokenKind>> = { mtk: 'tenant', mad: 'admin', mnd: 'node', mjn: 'join' };

const ID_DIGITS = 16;
const SECRET_DIGITS = 43;
const CHECKSUM_DIGITS = 6;
const FORM = /^(mtk|mad|mnd|mjn)_([0-9A-Za-z]{16})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** The longest text that can be a token. */
const LENGTH = 4 + ID_DIGITS + 1 + SECRET_DIGITS + CHECKSUM_DIGITS;

/** What a token says by itself, before anybody has looked it up. */
export interface ParsedToken {
  readonly kind: TokenKind;
  readonly id: string;
  readonly secret: string;
}

/** Writes a token from 96 random bits of public id and 256 of secret. */
export function formatToken(kind: TokenKind, id: Buffer, secret: Buffer): string {
  const body = `${PREFIXES[kind]}_${base62(id, ID_DIGITS)}_${base62(secret, SECRET_DIGITS)}`;
  return body + checksum(body);
}

/** Reads a token. Undefined for anything that no `formatToken` wrote, a single wrong letter included. */
export function parseToken(text: string): ParsedToken | undefined {
  if (text.length !== LENGTH) return undefined;
  const [, prefix, id, secret, sum] = FORM.exec(text) ?? [];
  if (!prefix || !id || !secret || checksum(text.slice(0, -CHECKSUM_DIGITS)) !== sum) return undefined;
  return { kind: KINDS[prefix]!, id, secret };
}

function checksum(body: string): string {
  return base62Number(crc32(body), CHECKSUM_DIGITS);
}
