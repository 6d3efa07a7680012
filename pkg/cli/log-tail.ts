/** Lines that are remembered, and asked for again after a break. */
const REMEMBERED = 1_000;

/**
 * The output of one replica, printed line by line and each line once, over connections that break.
 *
 * The server keeps no place in a log to go on from. So the last lines are read again after a break, and compared with those
 * that were printed last: only what comes after them is new.
 */
export class LogTail {
  readonly #print: (line: string) => void;
  #printed: string[] = [];
  /** What was read again so far, while it is not clear yet what of it is new. */
  #again: string[] | undefined;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** Begins to read again. Answers how many lines to ask for; nothing when none was printed yet. */
  resume(): number | undefined {
    if (this.#printed.length === 0) return undefined;
    this.#again = [];
    return REMEMBERED;
  }

  /** One more line was read. */
  read(line: string): void {
    if (!this.#again) return this.#tell(line);
    this.#again.push(line);
    if (this.#again.length >= REMEMBERED) this.settle();
  }

  /** No more lines of the past are to be expected: what was read again is complete. */
  settle(): void {
    const again = this.#again ?? [];
    this.#again = undefined;
    for (const line of again.slice(knownOf(again, this.#printed))) this.#tell(line);
  }

  #tell(line: string): void {
    this.#print(line);
    this.#printed.push(line);
    if (this.#printed.length > REMEMBERED) this.#printed.shift();
  }
}

/** How many of the lines that were read again are known: up to where they agree with the most of what was printed. */
export function knownOf(again: readonly string[], printed: readonly string[]): number {
  let best = { known: 0, agreeing: 0 };
  for (let known = 1; known <= again.length; known++) {
    const agreeing = Math.min(known, printed.length);
    if (agreeing > best.agreeing && agrees(again.slice(known - agreeing, known), printed.slice(-agreeing))) {
      best = { known, agreeing };
    }
  }
  return best.known;
}

function agrees(some: readonly string[], others: readonly string[]): boolean {
  return some.every((line, at) => line === others[at]);
}
