import { reject } from '../../crds/rejections/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import type { Settings } from '../../pkg/config/index.js';
import type { Caller } from '../http/route.js';
import { RequestRejection } from '../http/reply.js';

/** What an agent needs is a few requests a second; this is far above it and far below what would hurt. */
const AGENT = { perSecond: 50, burst: 500 };
/** A token lasts a day; a few more are for answers that were lost. */
const RENEWALS = { perSecond: 1 / 30, burst: 5 };
const GUESSING = { perSecond: 10 / 60, burst: 10 };

/**
 * How many requests each caller may make. Tenants, nodes and administrators have allowances of their own, so no tenant can use
 * up what keeps nodes alive; on open routes each address has one.
 */
export class RateLimiter {
  readonly #tenants: TokenBuckets;
  readonly #agents: TokenBuckets;
  readonly #renewals: TokenBuckets;
  readonly #guesses: TokenBuckets;
  readonly #open: TokenBuckets;
  readonly #perSecond: number;
  readonly #openPerSecond: number;

  constructor(
    clock: Clock,
    settings: Pick<Settings, 'rateLimitPerSecond' | 'rateLimitBurst' | 'openRatePerSecond' | 'openRateBurst'>,
  ) {
    this.#perSecond = settings.rateLimitPerSecond;
    this.#tenants = new TokenBuckets(clock, { perSecond: this.#perSecond, burst: settings.rateLimitBurst });
    this.#agents = new TokenBuckets(clock, AGENT);
    this.#renewals = new TokenBuckets(clock, RENEWALS);
    this.#guesses = new TokenBuckets(clock, GUESSING);
    this.#openPerSecond = settings.openRatePerSecond;
    this.#open = new TokenBuckets(clock, { perSecond: this.#openPerSecond, burst: settings.openRateBurst });
  }

  /** Takes one request out of the caller's allowance; of a caller without a token, out of that of its address. */
  check({ kind, id, tenant, token }: Caller, address: string): RequestRejection | undefined {
    if (kind === 'anonymous') return refusal(this.#open.take(address), this.#openPerSecond);
    if (kind === 'node') return refusal(this.#agents.take(token?.node ?? id), AGENT.perSecond);
    return refusal(this.#tenants.take(tenant ?? id), this.#perSecond);
  }

  /** Takes one renewal out of a node's allowance. Only a renewal that the node has signed is counted. */
  checkRenewal(nodeId: string): RequestRejection | undefined {
    return refusal(this.#renewals.take(nodeId), RENEWALS.perSecond);
  }

  /**
   * Slows down guessing: after ten failures a minute from one address, further ones are rejected. A request whose
   * token is valid, or has the form of a node's, is never counted here, so a caller cannot lock out another.
   */
  checkFailedAuth(address: string): RequestRejection | undefined {
    return refusal(this.#guesses.take(address), GUESSING.perSecond);
  }
}

function refusal(waitSeconds: number, perSecond: number): RequestRejection | undefined {
  if (waitSeconds === 0) return undefined;
  const wait = String(Math.max(1, Math.ceil(waitSeconds)));
  return new RequestRejection(reject('rate_limited', 'Authorization', '', { perSecond }), { 'retry-after': wait });
}

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
