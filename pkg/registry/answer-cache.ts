import type { Clock } from '../clock/index.js';
import type { ImageCheck } from './outcome.js';

/** How long an answer holds. An image seldom goes away; one that is missing may be pushed at any moment. */
const HOLDS_MS: Partial<Readonly<Record<ImageCheck['outcome'], number>>> = { present: 60_000, absent: 5_000 };

/** Answers of registries, for a short while. The one that was not asked for longest goes first. */
export class AnswerCache {
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #answers = new Map<string, { readonly check: ImageCheck; readonly until: number }>();

  constructor(clock: Clock, capacity: number) {
    this.#clock = clock;
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#answers.size;
  }

  get(key: string): ImageCheck | undefined {
    const answer = this.#answers.get(key);
    if (!answer) return undefined;
    this.#answers.delete(key);
    if (answer.until <= this.#clock.monotonic()) return undefined;
    this.#answers.set(key, answer);
    return answer.check;
  }

  /** Keeps what a registry has said. That one could not be asked is not kept: it may be back already. */
  put(key: string, check: ImageCheck): void {
    const holds = HOLDS_MS[check.outcome];
    if (holds === undefined) return;
    this.#answers.delete(key);
    this.#answers.set(key, { check, until: this.#clock.monotonic() + holds });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > this.#capacity && oldest !== undefined) this.#answers.delete(oldest);
  }
}
