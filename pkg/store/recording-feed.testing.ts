import { setTimeout as delay } from 'node:timers/promises';

import type { Entry, Feed, FollowOptions, Happening, Listing, Revision, Store } from './store.js';

/** Remembers everything that it is told, and what the state amounts to. */
export class RecordingFeed implements Feed {
  readonly revisions: (readonly Happening[])[] = [];
  readonly #state = new Map<string, Entry>();
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  firstRevision: Revision | undefined;
  resets = 0;
  up = false;

  static follow(store: Store, options: FollowOptions = {}): RecordingFeed {
    const feed = new RecordingFeed();
    feed.#running = store.follow(feed, options, feed.#stop.signal);
    return feed;
  }

  get happenings(): readonly Happening[] {
    return this.revisions.flat();
  }

  keys(): ReadonlyMap<string, Entry> {
    return this.#state;
  }

  reset({ entries, revision }: Listing): void {
    this.resets++;
    this.firstRevision ??= revision;
    this.#state.clear();
    for (const entry of entries) this.#state.set(entry.key, entry);
  }

  happened(happenings: readonly Happening[]): void {
    this.revisions.push(happenings);
    for (const { key, entry } of happenings) {
      if (entry) this.#state.set(key, entry);
      else this.#state.delete(key);
    }
  }

  connected(up: boolean): void {
    this.up = up;
  }

  synced(): Promise<void> {
    return this.until(() => this.resets > 0 && this.up);
  }

  /** Looks until `seen`, and fails when that takes too long. */
  async until(seen: () => boolean, withinMs = 8_000): Promise<void> {
    for (const deadline = performance.now() + withinMs; !seen(); ) {
      if (performance.now() > deadline) throw new Error('the feed was not told in time');
      await delay(5);
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
