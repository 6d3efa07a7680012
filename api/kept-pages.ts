/** A page of a list. */
export interface Page {
  /** What the page was made from; while it is the same, so is the page. */
  readonly beside: unknown;
  readonly items: Buffer;
  readonly next: string | undefined;
}

/** Keeps the pages that were made of one state of a list, as long as they are not too much together. */
export class KeptPages {
  readonly #most: number;
  readonly #pages = new Map<string, Page>();
  #bytes = 0;

  /** `most` bytes are kept. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The page at a place, made anew when it is not kept or was made beside something else. */
  page(place: string, beside: unknown, make: () => Page): Page {
    const known = this.#pages.get(place);
    if (known && known.beside === beside) return known;
    const made = make();
    this.#bytes += made.items.length - (known?.items.length ?? 0);
    if (this.#bytes > this.#most) {
      this.#pages.clear();
      this.#bytes = made.items.length;
    }
    if (this.#bytes <= this.#most) this.#pages.set(place, made);
    else this.#bytes = 0;
    return made;
  }
}
