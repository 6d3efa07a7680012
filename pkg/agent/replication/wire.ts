import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

import type { Clock } from '../../clock/index.js';
import { CHECKSUM_BYTES, releaseBuffer, StallWatch } from '../volumes/index.js';
import { PeerFault } from './peers.js';

const LINE_MAX = 16 * 1024;
/** No frame is longer. */
const FRAME_MAX = 2 ** 20;
/** The length of a frame that says only that its sender is there. */
const ALIVE = 0xffff_ffff;
const SKIPPED_MAX = 64 * 2 ** 20;
/** So much may wait to be sent, or to be read: with less, every frame would wait for the one before. */
const BUFFERED_MAX = 2 ** 20;
/** In so many pieces: one byte that arrives alone takes a hundred. */
const PIECES_MAX = 1024;

export interface WireOptions {
  readonly clock: Clock;
  /** How long the other end may send nothing while something is expected of it. */
  readonly stallMs: number;
}

/**
 * Lines of JSON and frames of bytes over one connection. A frame is its length, 4 bytes with the most significant first, and its
 * bytes; one of length 0 is the last, and the checksum of all follows.
 */
export class PeerWire {
  readonly #stream: Duplex;
  readonly #options: WireOptions;
  /** What has arrived and was not asked for yet. */
  #arrived: Buffer[] = [];
  #arrivedBytes = 0;
  /** What is to be filled with bytes as they arrive. */
  #wanted: { readonly into: Buffer; filled: number } | undefined;
  #watch: StallWatch | undefined;
  /** It is not read on: the next read fails with this. */
  #isSkipping = false;
  #wake = () => undefined as void;
  /** Frames that were given back. */
  readonly #spare: Buffer[] = [];
  #lastSent = 0;

  constructor(stream: Duplex, options: WireOptions) {
    this.#stream = stream;
    this.#options = options;
    const wake = () => this.#wake();
    stream.on('data', (chunk: Buffer) => {
      this.#watch?.notePassing();
      this.#arrived.push(chunk);
      this.#arrivedBytes += chunk.length;
      const isFilled = this.#fill();
      if (this.#arrivedBytes > BUFFERED_MAX || this.#arrived.length > PIECES_MAX) stream.pause();
      if (isFilled) wake();
    });
    stream.on('end', wake).on('close', wake).on('error', wake); // the next read or write fails with it
  }

  close(): void {
    this.#dropArrived(); // it is not read on
    this.#stream.destroy();
  }

  /** How often the one that is expected to say something says at least that it is there. */
  get aliveMs(): number {
    return this.#options.stallMs / 4;
  }

  async readLine(): Promise<string> {
    for (;;) {
      // Joined once: with each line, or each piece of one, all that has arrived would be copied again.
      if (this.#arrived.length > 1) this.#arrived = [Buffer.concat(this.#arrived)];
      const end = this.#arrived[0]?.indexOf(10) ?? -1;
      if (end > LINE_MAX || (end < 0 && this.#arrivedBytes > LINE_MAX)) throw new PeerFault('a line is too long');
      if (end >= 0) return (await this.#take(end + 1)).subarray(0, end).toString();
      this.#letCome();
      await this.#untilReceived();
    }
  }

  /** The bytes of each frame up to the last, which are the reader's own; returns the checksum that follows, as hex. */
  async *readFrames(): AsyncGenerator<Buffer, string> {
    for (;;) {
      const length = (await this.#take(4)).readUInt32BE();
      if (length === 0) return (await this.#take(CHECKSUM_BYTES)).toString('hex');
      if (length === ALIVE) continue;
      if (length > FRAME_MAX) throw new PeerFault('a frame is too long');
      yield await this.#take(length, this.#spare.pop());
    }
  }

  /** Takes a frame back that is not read any more: its memory is used for another. */
  giveBack(frame: Buffer): void {
    this.#spare.push(Buffer.from(frame.buffer));
  }

  /** Lets what is still under way go by until the other end closes: one that is closed meanwhile may not read the last answer. */
  async skip(): Promise<void> {
    this.#isSkipping = true;
    this.#wanted = undefined;
    this.#wake();
    for (let left = SKIPPED_MAX; left > 0; ) {
      left -= this.#dropArrived();
      this.#letCome();
      await this.#untilReceived();
    }
  }

  writeLine(document: object): Promise<void> {
    return this.#write([Buffer.from(`${JSON.stringify(document)}\n`)]);
  }

  /** Sends bytes as one frame, or as several where they are too long for one. Calls `onSent` when they are not needed any more. */
  async writeFrame(chunks: readonly Buffer[], onSent?: () => void): Promise<void> {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (length <= FRAME_MAX) return this.#write([toLength(length), ...chunks], onSent);
    const pieces = chunks.flatMap(splitLong);
    for (const [at, piece] of pieces.entries()) {
      await this.#write([toLength(piece.length), piece], at === pieces.length - 1 ? onSent : undefined);
    }
  }

  writeEnd(checksum: string): Promise<void> {
    return this.#write([toLength(0), Buffer.from(checksum, 'hex')]);
  }

  /** Says that this end is there, if it has been silent. */
  async writeAlive(): Promise<void> {
    const isSilent = this.#options.clock.monotonic() - this.#lastSent >= this.aliveMs;
    if (isSilent && this.#stream.writableLength === 0) await this.#write([toLength(ALIVE)]);
  }

  async #write(parts: readonly Buffer[], onSent?: () => void): Promise<void> {
    if (this.#stream.destroyed) throw broken();
    this.#lastSent = this.#options.clock.monotonic();
    this.#stream.cork();
    for (const part of parts.slice(0, -1)) this.#stream.write(part);
    this.#stream.write(parts.at(-1)!, error => error ?? onSent?.());
    this.#stream.uncork();
    if (this.#stream.writableLength > BUFFERED_MAX) await untilDrained(this.#stream);
  }

  /** So many bytes, in memory of their own: that of `into`, if it is large enough. */
  async #take(count: number, into?: Buffer): Promise<Buffer> {
    const taken = into && into.length >= count ? into.subarray(0, count) : Buffer.allocUnsafeSlow(count);
    const wanted = { into: taken, filled: 0 };
    if (this.#isSkipping) throw broken();
    this.#wanted = wanted;
    for (let isFilled = this.#fill(); !isFilled; isFilled = wanted.filled === count) {
      await this.#untilReceived();
      if (this.#isSkipping) throw broken();
    }
    this.#wanted = undefined;
    return taken;
  }

  /** Copies what has arrived to where it is wanted, before its reader is woken: to be woken for each piece costs more than to copy it. */
  #fill(): boolean {
    const wanted = this.#wanted;
    if (!wanted) return true;
    while (wanted.filled < wanted.into.length && this.#arrived.length > 0) {
      const chunk = this.#arrived[0]!;
      const copied = chunk.copy(wanted.into, wanted.filled);
      wanted.filled += copied;
      this.#arrivedBytes -= copied;
      if (copied < chunk.length) this.#arrived[0] = chunk.subarray(copied);
      else {
        this.#arrived.shift();
        if (this.#stream instanceof TLSSocket) releaseBuffer(chunk);
      }
    }
    this.#letCome();
    return wanted.filled === wanted.into.length;
  }

  /** Takes more from the other end, where there is room again. */
  #letCome(): void {
    const hasRoom = this.#arrivedBytes <= BUFFERED_MAX / 2 && this.#arrived.length <= PIECES_MAX / 2;
    if (hasRoom && this.#stream.isPaused()) this.#stream.resume();
  }

  #dropArrived(): number {
    const dropped = this.#arrivedBytes;
    this.#arrived = [];
    this.#arrivedBytes = 0;
    return dropped;
  }

  /** Until all is there that is wanted, or anything where nothing is. Throws when nothing more will come. */
  async #untilReceived(): Promise<void> {
    const { readableEnded, destroyed, errored } = this.#stream;
    if (errored) throw errored instanceof PeerFault ? errored : broken(errored);
    if (readableEnded || destroyed) throw broken();
    const { clock, stallMs } = this.#options;
    const watch = new StallWatch(clock, stallMs, () => this.#stream.destroy(createPeerStallFault()));
    this.#watch = watch;
    await new Promise<void>(resolve => {
      this.#wake = resolve;
    });
    watch.end();
  }
}

function splitLong(bytes: Buffer): readonly Buffer[] {
  const count = Math.ceil(bytes.length / FRAME_MAX);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * FRAME_MAX, (at + 1) * FRAME_MAX));
}

function toLength(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

/** Made when it is thrown: with its stack it costs more than the bytes that it would wait for. */
function createPeerStallFault(): PeerFault {
  return new PeerFault('the other node sent nothing for too long; see its agent and the network');
}

function broken(cause?: unknown): PeerFault {
  return new PeerFault('the connection to the other node broke; see its agent and the network', { cause });
}

function untilDrained(stream: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = () => {
      stream.off('drain', finish).off('close', finish);
      if (stream.destroyed) reject(broken());
      else resolve();
    };
    stream.on('drain', finish).on('close', finish);
  });
}
