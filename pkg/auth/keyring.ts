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

export const KEY_BYTES = 32;

/**
 * The peppers of token digests. The first one writes; all of them verify, so a new one can be put in front while tokens of
 * the old one are still in use.
 */
export class Keyring {
  readonly #peppers: readonly [KeyObject, ...KeyObject[]];

  constructor(peppers: readonly Buffer[]) {
    const [first, ...others] = peppers.map(pepper => {
      if (pepper.length !== KEY_BYTES)
        throw new UnusableKeyFileFault(`a key in the key file must be ${KEY_BYTES} bytes in base64`);
      return createSecretKey(pepper);
    });
    if (!first) throw new UnusableKeyFileFault('a key file must contain at least one key');
    this.#peppers = [first, ...others];
  }

  /** Hex of HMAC-SHA-256 with the writing pepper. */
  digest(secret: string): string {
    return createHmac('sha256', this.#peppers[0]).update(secret).digest('hex');
  }

  /** Whether any pepper gives this digest. Takes the same time in every case. */
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

/** Other users can read the key file, so its keys must be considered leaked. */
export class ExposedKeyFileFault extends Fault {
  readonly retriable = false;
}

/** The key file contains no key, or an invalid one. */
export class UnusableKeyFileFault extends Fault {
  readonly retriable = false;
}

const OTHERS = 0o077;

/** Reads a file that holds a secret. Refuses one that other users can read. */
export function readPrivateFile(path: string): string {
  const file = openSync(path, 'r');
  try {
    if ((fstatSync(file).mode & OTHERS) === 0) return readFileSync(file, 'utf8');
    throw new ExposedKeyFileFault(`${path} must be readable by its owner only: chmod 600 ${path}`);
  } finally {
    closeSync(file);
  }
}

/** Reads a key file: one base64 key per line, the writing key first. */
export function loadKeys(path: string): readonly Buffer[] {
  const lines = readPrivateFile(path).split('\n').filter(Boolean);
  if (lines.length === 0) throw new UnusableKeyFileFault(`${path} contains no key: restore the file from a backup`);
  return lines.map(line => Buffer.from(line, 'base64'));
}

/** Reads a key file, and creates it with one new key when there is none. Safe when two processes do so at once. */
export function openKeys(path: string, random: Random): readonly Buffer[] {
  if (!existsSync(path)) createKeyFile(path, random);
  return loadKeys(path);
}

export function openKeyring(path: string, random: Random): Keyring {
  return new Keyring(openKeys(path, random));
}

/** Writes a temporary file and links it into place, so that no process reads half a key and the first creator wins. */
function createKeyFile(path: string, random: Random): void {
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
