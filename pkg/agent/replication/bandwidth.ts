import { type Clock, sleep } from '../../clock/index.js';

/** The shares of a second that are sent at once. */
const SHARES = 10;
const PIECE_MIN = 1024;

/** Bounds what is sent in a second, by all senders together. */
export class Bandwidth {
  readonly #clock: Clock;
  readonly #bytesPerSecond: number | undefined;
  #freeAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, bytesPerSecond: number | undefined) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Chunks in pieces, none of which is more than a small part of what a second allows. */
  split(chunks: readonly Buffer[]): readonly (readonly Buffer[])[] {
    if (this.#bytesPerSecond === undefined) return [chunks];
    const size = Math.max(PIECE_MIN, Math.floor(this.#bytesPerSecond / SHARES));
    return chunks.flatMap(bytes =>
      Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => [bytes.subarray(at * size, (at + 1) * size)]),
    );
  }

  /** Waits until so much may be sent; undefined: now. */
  take(count: number, signal: AbortSignal): Promise<void> | undefined {
    if (this.#bytesPerSecond === undefined) return undefined;
    const now = this.#clock.monotonic();
    const turn = Math.max(now, this.#freeAt);
    this.#freeAt = turn + (count * 1000) / this.#bytesPerSecond;
    return turn > now ? sleep(this.#clock, turn - now, signal) : undefined;
  }
}
