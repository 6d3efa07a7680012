import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';

import type { Random } from '../clock/index.js';
import type { Disk } from './disk.js';

const FILE = 'node-key.pem';

/** The PKCS 8 header before the 32 secret bytes of an Ed25519 key. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The private key that identifies a node. It never leaves the machine. */
export interface NodeKey {
  /** SPKI DER in base64. */
  readonly publicKey: string;
  /** A signature in base64. */
  sign(text: string): string;
}

/** Loads the key, or creates one and stores it before use: a repeated enrolment must present the same key. */
export async function loadNodeKey(disk: Disk, random: Random): Promise<NodeKey> {
  const stored = await disk.read(FILE);
  if (stored !== undefined) return toNodeKey(createPrivateKey(stored));

  const der = Buffer.concat([PKCS8_PREFIX, random.bytes(32)]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  await disk.write(FILE, key.export({ format: 'pem', type: 'pkcs8' }).toString());
  return toNodeKey(key);
}

function toNodeKey(key: KeyObject): NodeKey {
  return {
    publicKey: createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64'),
    sign: text => sign(null, Buffer.from(text), key).toString('base64'),
  };
}
