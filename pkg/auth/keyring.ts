import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

import { UnusableKeyFileFault } from './faults.js';

/** Bytes of a key in a key file. */
export const KEY_BYTES = 32;

/**
 * The peppers that token digests are made with. The first writes; all of them verify, so that a new one can be put in
 * front while tokens of the old one are still about.
 */
export class Keyring {
  readonly #peppers: readonly [KeyObject, ...KeyObject[]];

  constructor(peppers: readonly Buffer[]) {
    const [first, ...others] = peppers.map(pepper => {
      if (pepper.length !== KEY_BYTES) throw new UnusableKeyFileFault(`a pepper must be ${KEY_BYTES} bytes`);
      return createSecretKey(pepper);
    });
    if (!first) throw new UnusableKeyFileFault('a keyring must hold at least one pepper');
    this.#peppers = [first, ...others];
  }

  /** Hex of HMAC-SHA-256 under the pepper that writes. */
  digest(secret: string): string {
    return createHmac('sha256', this.#peppers[0]).update(secret).digest('hex');
  }

  /** Whether any pepper gives this digest. Takes the same time whichever it is, and when none does. */
  matches(secret: string, digest: string): boolean {
    const expected = Buffer.alloc(32);
    expected.write(digest, 'hex');
    let found = false;
    for (const pepper of this.#peppers) {
      const actual = createHmac('sha256', pepper).update(secret).digest();
      found = timingSafeEqual(actual, expected) || found;
    }
    return found;
  }
}
