import type { Feed, Happening, Listing } from './store.js';

/** Tells one feed, in order and never from inside the write that caused it. */
export class MemoryFollower {
  readonly #feed: Feed;
  readonly #defer: (tell: () => void) => void;
  #untold: ((feed: Feed) => void)[] = [];
  #stopped = false;

  constructor(feed: Feed, defer: (tell: () => void) => void) {
    this.#feed = feed;
    this.#defer = defer;
  }

  reset(listing: Listing): void {
    this.#tell(feed => {
      feed.reset(listing);
      feed.connected(true);
    });
  }

  happened(happenings: readonly Happening[]): void {
    this.#tell(feed => feed.happened(happenings));
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#untold = [];
    this.#feed.connected(false);
  }

  #tell(what: (feed: Feed) => void): void {
    this.#untold.push(what);
    this.#defer(() => {
      if (!this.#stopped) this.#untold.shift()?.(this.#feed);
    });
  }
}
