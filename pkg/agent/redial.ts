/** Lets the stream of assignments be broken off on purpose, to begin anew with a snapshot. */
export class Redial {
  readonly #end: AbortSignal;
  #current = new AbortController();

  constructor(end: AbortSignal) {
    this.#end = end;
  }

  /** Of the next stream: aborted when it is to be broken off, or at the end of everything. */
  signal(): AbortSignal {
    this.#current = new AbortController();
    return AbortSignal.any([this.#end, this.#current.signal]);
  }

  /** Breaks off the stream there is. */
  again(): void {
    this.#current.abort();
  }
}
