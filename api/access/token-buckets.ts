import type { Clock } from '../../pkg/clock/index.js';

interface Bucket {
  tokens: number;
  /** Monotonic time at which `tokens` was right. */
  at: number;
}

/** How many buckets are kept before the full ones are thrown away. */
const SWEEP_AT = 10_000;

/**
 * Allowances that refill steadily: so many requests a second, with a burst on top. A bucket that has refilled is the
 * same as one that was never made, so idle callers cost nothing.
 */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, Bucket>();
  #sweepAt = SWEEP_AT;

  constructor(clock: Clock, { perSecond, burst }: { readonly perSecond: number; readonly burst: number }) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#burst = burst;
  }

  /** Takes one. Gives 0, or the seconds to wait until there is one again. */
  take(key: string): number {
    const bucket = this.#refilled(key);
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return 0;
    }
    return (1 - bucket.tokens) / this.#perSecond;
  }

  #refilled(key: string): Bucket {
    const now = this.#clock.monotonic();
    const known = this.#buckets.get(key);
    if (known) {
      known.tokens = this.#level(known, now);
      known.at = now;
      return known;
    }
    if (this.#buckets.size >= this.#sweepAt) this.#sweep(now);
    const made = { tokens: this.#burst, at: now };
    this.#buckets.set(key, made);
    return made;
  }

  #level({ tokens, at }: Bucket, now: number): number {
    return Math.min(this.#burst, tokens + ((now - at) / 1000) * this.#perSecond);
  }

  #sweep(now: number): void {
    for (const [key, bucket] of this.#buckets) if (this.#level(bucket, now) >= this.#burst) this.#buckets.delete(key);
    this.#sweepAt = Math.max(SWEEP_AT, 2 * this.#buckets.size);
  }
}
