import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

import type { Random } from '../clock/index.js';
import { Fault } from '../fault/index.js';

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

/** The key file can be read by others than its owner, so what it protects must be taken as known. */
export class ExposedKeyFileFault extends Fault {
  readonly retriable = false;
}

/** The key file holds no key, or something that is not one. */
export class UnusableKeyFileFault extends Fault {
  readonly retriable = false;
}

const OTHERS = 0o077;

/** Reads a key file: one base64 key a line, the one that writes first. Refuses one that others can read. */
export function loadKeys(path: string): readonly Buffer[] {
  const file = openSync(path, 'r');
  try {
    if ((fstatSync(file).mode & OTHERS) !== 0) {
      throw new ExposedKeyFileFault(`${path} must be readable by its owner only: chmod 600 ${path}`);
    }
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
    if (lines.length === 0) throw new UnusableKeyFileFault(`${path} holds no key`);
    return lines.map(line => Buffer.from(line, 'base64'));
  } finally {
    closeSync(file);
  }
}

/** Reads a key file, and makes it with one new key when there is none. Safe against two processes doing so at once. */
export function openKeys(path: string, random: Random): readonly Buffer[] {
  if (!existsSync(path)) create(path, random);
  return loadKeys(path);
}

/** The peppers of a key file. */
export function loadKeyring(path: string): Keyring {
  return new Keyring(loadKeys(path));
}

/** The peppers of a key file, which is made when there is none. */
export function openKeyring(path: string, random: Random): Keyring {
  return new Keyring(openKeys(path, random));
}

/** Written aside and linked into place, so that nobody ever reads half a key and the first of two makers wins. */
function create(path: string, random: Random): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.${random.bytes(6).toString('hex')}`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    chmodSync(draft, 0o600);
    writeSync(file, `${random.bytes(KEY_BYTES).toString('base64')}\n`);
    fsyncSync(file);
    linkSync(draft, path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  } finally {
    closeSync(file);
    rmSync(draft, { force: true });
  }
}
