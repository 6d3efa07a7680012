import { createHash } from 'node:crypto';
import { pipeline, type Readable, Transform } from 'node:stream';

import { type OutgoingSnapshot, VolumeFault } from './driver.js';

/** A stream with the SHA-256 of what has passed. */
export function hashed(source: Readable): OutgoingSnapshot {
  const hash = createHash('sha256');
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      hash.update(chunk);
      next(null, chunk);
    },
  });
  const digest = new Promise<string>((resolve, reject) => {
    pipeline(source, stream, failure => (failure ? reject(failure) : resolve(hash.digest('hex'))));
  });
  digest.catch(() => undefined); // whoever reads the stream learns of it too
  return { stream, digest };
}

/** Throws unless what was computed is what the sender computed. */
export async function checkDigest(computed: string, expected: string | Promise<string>): Promise<void> {
  if ((await expected) === computed) return;
  throw new VolumeFault('bad_stream', 'the stream is not the one that was sent: its digest differs; send it again');
}
