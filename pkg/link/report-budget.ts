import type { Clock } from '../clock/index.js';

/** How many writes are allowed: so many a second, and a burst on top. */
export interface ReportAllowance {
  readonly perSecond: number;
  readonly burst: number;
}

/** One replica's reports: what a container goes through in its life, then one change in five seconds. */
export const REPLICA_ALLOWANCE: ReportAllowance = { perSecond: 0.2, burst: 10 };

/** Above what the node's replicas are allowed together, so that an agent that keeps to it is never refused. */
export function toNodeAllowance(replicas: number): ReportAllowance {
  return {
    perSecond: 2 + replicas * 2 * REPLICA_ALLOWANCE.perSecond,
    burst: 60 + replicas * 2 * REPLICA_ALLOWANCE.burst,
  };
}

interface Balance {
  writes: number;
  /** Monotonic time at which `writes` was right. */
  at: number;
  /** Monotonic time at which the balance is full again: then it need not be kept. */
  fullAt: number;
}

const SWEEP_AT = 10_000;

/**
 * Bounds the writes that reports may cause, by node or by replica.
 *
 * A batch is allowed while the balance is above zero and may take it below, so that a batch larger than the burst is
 * delayed and not refused for ever.
 */
export class ReportBudget {
  readonly #clock: Clock;
  readonly #balances = new Map<string, Balance>();
  #sweepAt = SWEEP_AT;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the writes and returns 0, or takes none and returns the milliseconds to wait. */
  take(key: string, writes: number, { perSecond, burst }: ReportAllowance): number {
    const now = this.#clock.monotonic();
    const known = this.#balances.get(key) ?? { writes: burst, at: now, fullAt: now };
    const balance = Math.min(burst, known.writes + ((now - known.at) / 1000) * perSecond);
    const isAllowed = writes === 0 || balance > 0;
    const left = isAllowed ? Math.max(-burst, balance - writes) : balance;
    this.#balances.set(key, { writes: left, at: now, fullAt: now + ((burst - left) / perSecond) * 1000 });
    this.#sweep(now);
    return isAllowed ? 0 : Math.max(1, Math.ceil((-balance / perSecond) * 1000) + 1);
  }

  forget(key: string): void {
    this.#balances.delete(key);
  }

  #sweep(now: number): void {
    if (this.#balances.size < this.#sweepAt) return;
    for (const [key, { fullAt }] of this.#balances) if (fullAt <= now) this.#balances.delete(key);
    this.#sweepAt = Math.max(SWEEP_AT, 2 * this.#balances.size);
  }
}
