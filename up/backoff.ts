const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** A process that lived this long is not in a crash loop. */
const HEALTHY_AFTER_MS = 30_000;

interface Standing {
  readonly attempts: number;
  readonly at: number;
}

/** When a part that keeps ending may be started again. */
export class Backoff {
  readonly #standing = new Map<string, Standing>();

  /** How long to wait, at `now`, before the next start of this part. */
  waitMs(name: string, now: number): number {
    const { attempts, at } = this.#standing.get(name) ?? { attempts: 0, at: 0 };
    if (attempts === 0) return 0;
    return Math.max(0, at + Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempts - 1)) - now);
  }

  /** A start is made at `now`. */
  started(name: string, now: number): void {
    const { attempts, at } = this.#standing.get(name) ?? { attempts: 0, at: now };
    this.#standing.set(name, { attempts: now - at > HEALTHY_AFTER_MS ? 1 : attempts + 1, at: now });
  }
}
