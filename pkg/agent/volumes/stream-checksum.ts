import { pipeline, type Readable, Transform } from 'node:stream';
import { crc32 } from 'node:zlib';

import { type Cancel, type Clock, untilAborted } from '../../clock/index.js';
import type { BackendStream } from './backend.js';
import { type OutgoingSnapshot, VolumeFault } from './driver.js';

/** So much may be under way between two programs: with less they would wait for each other at every piece. */
const BUFFERED_BYTES = 2 ** 20;
const BUFFERED_CHUNKS = 16;

export const CHECKSUM_BYTES = 12;

/**
 * CRC-32 and length of a stream. TLS prevents changes on the way, and a node may send what it likes into its own volume: this finds
 * a piece that was lost, sent twice or written over by ourselves. A SHA-256 was more than half of the processor time of a transfer.
 */
export class StreamChecksum {
  #crc = 0;
  #length = 0;

  add(bytes: Buffer): this {
    this.#crc = crc32(bytes, this.#crc);
    this.#length += bytes.length;
    return this;
  }

  toHex(): string {
    return this.#crc.toString(16).padStart(8, '0') + this.#length.toString(16).padStart(16, '0');
  }
}

/** Calls `giveUp` when nothing has passed for so long, or it was not read: a reader must not wait for ever. */
export class StallWatch {
  readonly #clock: Clock;
  #passedAt: number;
  #cancel: Cancel = () => undefined;

  constructor(clock: Clock, stallMs: number, giveUp: () => void, isWaiting = () => false) {
    this.#clock = clock;
    this.#passedAt = clock.monotonic();
    // One timer that looks when the last has passed: one for each chunk would cost more than to copy it.
    const look = () => {
      if (isWaiting()) this.notePassing();
      const left = this.#passedAt + stallMs - clock.monotonic();
      if (left > 0) this.#cancel = clock.after(left, look);
      else giveUp();
    };
    look();
  }

  notePassing(): void {
    this.#passedAt = this.#clock.monotonic();
  }

  end(): void {
    this.#cancel();
  }
}

export function createStallFault(): VolumeFault {
  const message = 'nothing of the stream has passed for too long; see the network and the disks of both nodes';
  return new VolumeFault('failed', `${message}, and send it again`);
}

/** A stream with the checksum of what has passed. It ends when `ended` resolves: the end of an output is no success. */
export function toOutgoing(
  { source, ended, giveBack }: BackendStream,
  startWatch: (giveUp: (fault: VolumeFault) => void) => StallWatch,
): OutgoingSnapshot {
  const sum = new StreamChecksum();
  const stream = new Transform({
    writableHighWaterMark: BUFFERED_BYTES,
    readableObjectMode: true, // chunks stay as they are: put together they would be copied once more
    readableHighWaterMark: BUFFERED_CHUNKS,
    transform(chunk: Buffer, _encoding, next) {
      watch.notePassing();
      sum.add(chunk);
      next(null, chunk);
    },
    flush(next) {
      ended.then(() => next(), next);
    },
  });
  const watch = startWatch(fault => stream.destroy(fault));
  stream.on('error', () => undefined); // its reader reports it
  stream.once('close', () => watch.end());
  const checksum = new Promise<string>((resolve, reject) => {
    pipeline(source, stream, failure => (failure ? reject(failure) : resolve(sum.toHex())));
  });
  checksum.catch(() => undefined); // the reader of the stream gets it too
  return { stream, checksum, ...(giveBack && { giveBack }) };
}

/** The chunks of a stream, which are added to a checksum, if there is one, as they pass. */
export async function* summing(source: Readable, watch: StallWatch, sum?: StreamChecksum): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    watch.notePassing();
    sum?.add(chunk as Buffer);
    yield chunk as Buffer;
  }
}

/** Throws unless what was computed is what the sender computed, and when that is not known before `signal` is aborted. */
export async function checkSum(
  sum: Pick<StreamChecksum, 'toHex'>,
  expected: string | Promise<string>,
  signal: AbortSignal,
): Promise<void> {
  const sent = await Promise.race([expected, untilAborted(signal)]);
  signal.throwIfAborted();
  if (sent === sum.toHex()) return;
  throw new VolumeFault('bad_stream', 'the stream is not the one that was sent: its checksum differs; send it again');
}
