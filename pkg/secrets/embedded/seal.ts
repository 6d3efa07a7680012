import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

import type { Random } from '../../clock/index.js';
import { UnreadableSecretFault } from '../faults.js';
import type { SealingKey, SecretKeyring } from './secret-keyring.js';

/** Sealed bytes, as they are stored. */
export interface SealedRecord {
  /** Which key it is sealed with. */
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
 * Seals bytes so that they open only under the same `context`: the names of all it belongs to.
 *
 * Each record has a key of its own, derived from the keyring's key and a random salt, so that no key ever seals two
 * records and no count of writes wears one out.
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

/** Opens what `seal` sealed under the same context. Everything else is an `UnreadableSecretFault`. */
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
    // The cause says nothing more, and must not be given the chance to.
    throw new UnreadableSecretFault('a sealed secret was altered, or belongs elsewhere');
  }
}

/** Hex of a code that proves who wrote the facts: nobody without the key can make one. */
export function computeCode({ id, key }: SealingKey, facts: readonly unknown[]): string {
  const own = Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), HEAD, KEY_BYTES));
  return createHmac('sha256', own).update(bind(id, facts)).digest('hex');
}

/** Whether `code` is what `authenticate` gives for these facts. */
export function isAuthentic(key: SealingKey, facts: readonly unknown[], code: string): boolean {
  const [expected, given] = [Buffer.from(computeCode(key, facts), 'hex'), Buffer.from(code, 'hex')];
  return expected.length === given.length && timingSafeEqual(expected, given);
}

function recordKey({ key }: SealingKey, salt: Buffer): { key: Buffer; nonce: Buffer } {
  const derived = Buffer.from(hkdfSync('sha256', key, salt, RECORD, KEY_BYTES + NONCE_BYTES));
  return { key: derived.subarray(0, KEY_BYTES), nonce: derived.subarray(KEY_BYTES) };
}

/** JSON of a list has one reading, so no two contexts give the same bytes. */
function bind(keyId: string, facts: readonly unknown[]): Buffer {
  return Buffer.from(JSON.stringify([keyId, ...facts]));
}
