import type { Duplex } from 'node:stream';

import type { Clock } from '../../clock/index.js';
import { PeerFault } from './peers.js';

const LINE_MAX = 16 * 1024;
/** No frame is longer. */
const FRAME_MAX = 2 ** 20;
/** The length of a frame that says only that its sender is there. */
const ALIVE = 0xffff_ffff;
const DIGEST_BYTES = 32;
const SKIPPED_MAX = 64 * 2 ** 20;
/** So much may wait to be sent: with less, every frame would wait for the one before. */
const BUFFERED_MAX = 2 ** 20;

export interface WireOptions {
  readonly clock: Clock;
  /** How long nothing may be heard of the other end while something is expected of it. */
  readonly stallMs: number;
}

/**
 * Lines of JSON and frames of bytes over one connection. A frame is its length, 4 bytes with the most significant first, and its
 * bytes; one of length 0 is the last, and the SHA-256 of all follows.
 */
export class PeerWire {
  readonly #stream: Duplex;
  readonly #options: WireOptions;
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  #lastSent = 0;

  constructor(stream: Duplex, options: WireOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#chunks = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    stream.on('error', () => undefined); // whoever reads or writes next learns of it
  }

  close(): void {
    this.#stream.destroy();
  }

  /** How often the one that is expected to say something says at least that it is there. */
  get aliveMs(): number {
    return this.#options.stallMs / 4;
  }

  async readLine(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(10);
      if (end > LINE_MAX || (end < 0 && this.#rest.length > LINE_MAX)) throw new PeerFault('a line is too long');
      if (end >= 0) {
        const line = this.#rest.subarray(0, end).toString();
        this.#rest = this.#rest.subarray(end + 1);
        return line;
      }
      this.#rest = Buffer.concat([this.#rest, await this.#next()]);
    }
  }

  /** The bytes of each frame up to the last; returns the digest that follows, as hex. */
  async *readFrames(): AsyncGenerator<Buffer, string> {
    for (;;) {
      const length = (await this.#take(4)).readUInt32BE();
      if (length === 0) return (await this.#take(DIGEST_BYTES)).toString('hex');
      if (length === ALIVE) continue;
      if (length > FRAME_MAX) throw new PeerFault('a frame is too long');
      yield await this.#take(length);
    }
  }

  /** Lets what is still under way go by until the other end closes: one that is closed meanwhile may not read the last answer. */
  async skip(): Promise<void> {
    for (let left = SKIPPED_MAX; left > 0; ) left -= (await this.#next()).length;
  }

  writeLine(document: object): Promise<void> {
    return this.#write([Buffer.from(`${JSON.stringify(document)}\n`)]);
  }

  /** Sends bytes as one frame, or as several where they are too long for one. */
  async writeFrame(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += FRAME_MAX) {
      const piece = bytes.subarray(at, at + FRAME_MAX);
      await this.#write([toLength(piece.length), piece]);
    }
  }

  writeEnd(digest: string): Promise<void> {
    return this.#write([toLength(0), Buffer.from(digest, 'hex')]);
  }

  /** Says that this end is there, if it has been silent. */
  async writeAlive(): Promise<void> {
    const isSilent = this.#options.clock.monotonic() - this.#lastSent >= this.aliveMs;
    if (isSilent && this.#stream.writableLength === 0) await this.#write([toLength(ALIVE)]);
  }

  async #write(parts: readonly Buffer[]): Promise<void> {
    if (this.#stream.destroyed) throw broken();
    this.#lastSent = this.#options.clock.monotonic();
    this.#stream.cork();
    for (const part of parts) this.#stream.write(part);
    this.#stream.uncork();
    if (this.#stream.writableLength > BUFFERED_MAX) await untilDrained(this.#stream);
  }

  async #take(count: number): Promise<Buffer> {
    const chunks = [this.#rest];
    for (let length = this.#rest.length; length < count; length += chunks.at(-1)!.length)
      chunks.push(await this.#next());
    const bytes = chunks.length === 1 ? this.#rest : Buffer.concat(chunks);
    this.#rest = bytes.subarray(count);
    return bytes.subarray(0, count);
  }

  async #next(): Promise<Buffer> {
    const { clock, stallMs } = this.#options;
    const cancel = clock.after(stallMs, () => this.#stream.destroy(stalled()));
    try {
      const { value, done } = await this.#chunks.next();
      if (!done) return value;
    } catch (thrown) {
      throw thrown instanceof PeerFault ? thrown : broken(thrown);
    } finally {
      cancel();
    }
    throw broken();
  }
}

function toLength(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

/** Made when it is thrown: with its stack it costs more than the bytes that it would wait for. */
function stalled(): PeerFault {
  return new PeerFault('nothing was heard of the other node for too long; see its agent and the network');
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
