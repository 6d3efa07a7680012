import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto';

import type { Random } from '../../clock/index.js';
import { UnreadableSecretFault } from '../faults.js';
import type { SealingKey, SecretKeyring } from './secret-keyring.js';

export interface SealedRecord {
  /** The name of the key that it is sealed with. */
  readonly keyId: string;
  /** Base64 of the 32 random bytes that this record's own key comes from. */
  readonly salt: string;
  /** Base64 of the ciphertext followed by its tag. */
  readonly box: string;
}

const CIPHER = 'aes-256-gcm';
const SALT_BYTES = 32;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const RECORD = 'mooring.io/secrets/record/1';
const HEAD = 'mooring.io/secrets/head/1';

/**
 * Encrypts bytes so that they open only with the same `context`: the path and version they belong to.
 *
 * Each record has its own key, derived from the keyring's key and a random salt, so no key encrypts two records and the
 * number of writes is not limited by nonce reuse.
 */
export function seal(keyring: SecretKeyring, random: Random, context: readonly unknown[], bytes: Buffer): SealedRecord {
  const { writing } = keyring;
  const salt = random.bytes(SALT_BYTES);
  const { key, nonce } = recordKey(writing, salt);
  const cipher = createCipheriv(CIPHER, key, nonce);
  cipher.setAAD(bind(writing.id, context));
  const box = Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  return { keyId: writing.id, salt: salt.toString('base64'), box: box.toString('base64') };
}

/** Decrypts what `seal` encrypted with the same context. Anything else is an `UnreadableSecretFault`. */
export function unseal(keyring: SecretKeyring, context: readonly unknown[], sealed: SealedRecord): Buffer {
  const held = keyring.find(sealed.keyId);
  if (!held) throw new UnreadableSecretFault('a secret is sealed with a key that is not in the keyring');
  const box = Buffer.from(sealed.box, 'base64');
  const { key, nonce } = recordKey(held, Buffer.from(sealed.salt, 'base64'));
  try {
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(bind(sealed.keyId, context));
    decipher.setAuthTag(box.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(box.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    // The cause adds nothing, and must not have the chance to leak anything.
    throw new UnreadableSecretFault('a sealed secret was altered, or copied from another place');
  }
}

/** Hex of an HMAC over the facts: it cannot be forged without the key. */
export function computeCode(key: SealingKey, facts: readonly unknown[]): string {
  return createHmac('sha256', deriveHeadKey(key)).update(bind(key.id, facts)).digest('hex');
}

export function isAuthentic(key: SealingKey, facts: readonly unknown[], code: string): boolean {
  const [expected, given] = [Buffer.from(computeCode(key, facts), 'hex'), Buffer.from(code, 'hex')];
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** Every read of a head checks its code: to derive the key for that costs more than to use it. */
const headKeys = new WeakMap<SealingKey, KeyObject>();

function deriveHeadKey(held: SealingKey): KeyObject {
  const known = headKeys.get(held);
  if (known) return known;
  const derived = createSecretKey(Buffer.from(hkdfSync('sha256', held.key, Buffer.alloc(0), HEAD, KEY_BYTES)));
  headKeys.set(held, derived);
  return derived;
}

function recordKey({ key }: SealingKey, salt: Buffer): { key: Buffer; nonce: Buffer } {
  const derived = Buffer.from(hkdfSync('sha256', key, salt, RECORD, KEY_BYTES + NONCE_BYTES));
  return { key: derived.subarray(0, KEY_BYTES), nonce: derived.subarray(KEY_BYTES) };
}

/** JSON of a list is unambiguous, so two contexts never give the same bytes. */
function bind(keyId: string, facts: readonly unknown[]): Buffer {
  return Buffer.from(JSON.stringify([keyId, ...facts]));
}
