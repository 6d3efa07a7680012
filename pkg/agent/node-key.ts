import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';

import type { Random } from '../clock/index.js';
import type { Disk } from './disk.js';

const FILE = 'node-key.pem';

/** What stands before the 32 secret bytes of an Ed25519 key in PKCS 8. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The key that makes a node this node. It never leaves the machine. */
export interface NodeKey {
  /** SPKI DER in base64. */
  readonly publicKey: string;
  /** A signature in base64. */
  sign(text: string): string;
}

/** The key kept on disk, or a new one that is on disk before it is used: a repeated enrolment must find the same. */
export async function loadNodeKey(disk: Disk, random: Random): Promise<NodeKey> {
  const kept = await disk.read(FILE);
  if (kept !== undefined) return keyOf(createPrivateKey(kept));

  const der = Buffer.concat([PKCS8_PREFIX, random.bytes(32)]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  await disk.write(FILE, key.export({ format: 'pem', type: 'pkcs8' }).toString());
  return keyOf(key);
}

function keyOf(key: KeyObject): NodeKey {
  return {
    publicKey: createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64'),
    sign: text => sign(null, Buffer.from(text), key).toString('base64'),
  };
}
