import { createHash, type Hash } from 'node:crypto';
import { pipeline, type Readable, Transform } from 'node:stream';

import { type Cancel, type Clock, untilAborted } from '../../clock/index.js';
import { type OutgoingSnapshot, VolumeFault } from './driver.js';

/** So much may be under way between two programs: with less they would wait for each other at every piece. */
const BUFFERED_BYTES = 2 ** 20;

/** Calls `giveUp` when nothing has passed for so long, or nobody has read it: whoever waits for the stream must not wait for ever. */
export class StallWatch {
  readonly #start: () => Cancel;
  #cancel: Cancel;

  constructor(clock: Clock, stallMs: number, giveUp: (fault: VolumeFault) => void) {
    const message =
      'nothing of the stream has passed for too long; see the network and the disks of both nodes, and send it again';
    this.#start = () => clock.after(stallMs, () => giveUp(new VolumeFault('failed', message)));
    this.#cancel = this.#start();
  }

  notePassing(): void {
    this.#cancel();
    this.#cancel = this.#start();
  }

  end(): void {
    this.#cancel();
  }
}

/** A stream with the SHA-256 of what has passed. It ends when `ended` resolves: the end of an output is no success. */
export function toOutgoing(
  source: Readable,
  ended: Promise<void>,
  startWatch: (giveUp: (fault: VolumeFault) => void) => StallWatch,
): OutgoingSnapshot {
  const hash = createHash('sha256');
  const stream = new Transform({
    highWaterMark: BUFFERED_BYTES,
    transform(chunk: Buffer, _encoding, next) {
      watch.notePassing();
      hash.update(chunk);
      next(null, chunk);
    },
    flush(next) {
      ended.then(() => next(), next);
    },
  });
  const watch = startWatch(fault => stream.destroy(fault));
  stream.on('error', () => undefined); // told by whoever reads it
  stream.once('close', () => watch.end());
  const digest = new Promise<string>((resolve, reject) => {
    pipeline(source, stream, failure => (failure ? reject(failure) : resolve(hash.digest('hex'))));
  });
  digest.catch(() => undefined); // whoever reads the stream learns of it too
  return { stream, digest };
}

/** The chunks of a stream, which are added to a hash as they pass. */
export async function* hashing(source: Readable, hash: Hash, watch: StallWatch): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    watch.notePassing();
    hash.update(chunk as Buffer);
    yield chunk as Buffer;
  }
}

/** Throws unless what was computed is what the sender computed, and when that is not known before `signal` is aborted. */
export async function checkDigest(hash: Hash, expected: string | Promise<string>, signal: AbortSignal): Promise<void> {
  const sent = await Promise.race([expected, untilAborted(signal)]);
  signal.throwIfAborted();
  if (sent === hash.digest('hex')) return;
  throw new VolumeFault('bad_stream', 'the stream is not the one that was sent: its digest differs; send it again');
}
