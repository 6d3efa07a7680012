/**
 * What has happened, in one number: two runs with the same hash took the same steps at the same times.
 *
 * FNV-1a with 32 bits over every line. The last lines are kept for debugging.
 */
export class Trace {
  readonly #keep: number;
  #lines: string[] = [];
  #hash = 0x811c9dc5;
  #steps = 0;

  constructor(keep = 400) {
    this.#keep = keep;
  }

  add(line: string): void {
    this.#steps++;
    let hash = this.#hash;
    for (let i = 0; i < line.length; i++) hash = Math.imul(hash ^ line.charCodeAt(i), 0x01000193);
    this.#hash = hash;
    this.#lines.push(line);
    if (this.#lines.length > 2 * this.#keep) this.#lines = this.#lines.slice(-this.#keep);
  }

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  get steps(): number {
    return this.#steps;
  }

  /** The latest lines, the oldest of them first. */
  get tail(): readonly string[] {
    return this.#lines.slice(-this.#keep);
  }
}
