import { createHash, type Hash } from 'node:crypto';
import { pipeline, type Readable, Transform } from 'node:stream';

import { type OutgoingSnapshot, VolumeFault } from './driver.js';

/** So much may be under way between two programs: with less they would wait for each other at every piece. */
const BUFFERED_BYTES = 2 ** 20;

/** A stream with the SHA-256 of what has passed. It ends when `ended` resolves: the end of an output is no success. */
export function toOutgoing(source: Readable, ended: Promise<void>): OutgoingSnapshot {
  const hash = createHash('sha256');
  const stream = new Transform({
    highWaterMark: BUFFERED_BYTES,
    transform(chunk: Buffer, _encoding, next) {
      hash.update(chunk);
      next(null, chunk);
    },
    flush(next) {
      ended.then(() => next(), next);
    },
  });
  const digest = new Promise<string>((resolve, reject) => {
    pipeline(source, stream, failure => (failure ? reject(failure) : resolve(hash.digest('hex'))));
  });
  digest.catch(() => undefined); // whoever reads the stream learns of it too
  return { stream, digest };
}

/** The chunks of a stream, which are added to a hash as they pass. */
export async function* hashing(source: Readable, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    hash.update(chunk as Buffer);
    yield chunk as Buffer;
  }
}

/** Throws unless what was computed is what the sender computed. */
export async function checkDigest(hash: Hash, expected: string | Promise<string>): Promise<void> {
  if ((await expected) === hash.digest('hex')) return;
  throw new VolumeFault('bad_stream', 'the stream is not the one that was sent: its digest differs; send it again');
}
