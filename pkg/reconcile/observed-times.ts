import type { LoopEnv } from './loop.js';

/** How long a leader itself has seen each of several states, in milliseconds. */
export type Ages<State extends string = string> = Readonly<Record<State, number>>;

interface FirstSeen {
  readonly mark: string;
  readonly at: number;
}

/**
 * How long what a leader waits on has been so, by its own monotonic clock.
 *
 * A time in a record is read from the wall clock of the process that wrote it, and that may be a day off: it is a label. A state
 * counts from when this process, in this term, first saw it, and a new leader starts over. What a look does not name is
 * forgotten, so nothing is kept of keys that are gone.
 */
export class ObservedTimes {
  readonly #keys = new Map<string, ReadonlyMap<string, FirstSeen>>();
  #fence: LoopEnv['fence'] | undefined;

  /**
   * The age of every state of a key. A state that begins again has another mark than before; one without a mark does not hold, and
   * its age is 0.
   */
  measure<State extends string>(
    key: string,
    marks: Readonly<Record<State, string | undefined>>,
    { clock, fence }: Pick<LoopEnv, 'clock' | 'fence'>,
  ): Ages<State> {
    if (this.#fence !== fence) this.#keys.clear();
    this.#fence = fence;
    const now = clock.monotonic();
    const before = this.#keys.get(key);
    const seen = new Map<string, FirstSeen>();
    for (const [state, mark] of Object.entries<string | undefined>(marks)) {
      if (mark === undefined) continue;
      const known = before?.get(state);
      seen.set(state, known?.mark === mark ? known : { mark, at: now });
    }
    if (seen.size > 0) this.#keys.set(key, seen);
    else this.#keys.delete(key);
    const ages = Object.keys(marks).map(state => [state, now - (seen.get(state)?.at ?? now)]);
    return Object.fromEntries(ages) as Ages<State>;
  }
}
