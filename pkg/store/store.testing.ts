import { setTimeout as delay } from 'node:timers/promises';

import type { Clock } from '../clock/index.js';
import { encode } from './documents.js';
import type { Entry, Revision } from './entry.js';
import type { Change, FollowOptions, Guard, Listing, Store, WatchEvent, WatchHandler } from './store.js';

/** A store to be examined, with what the examination needs beside it. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Lets time pass. */
  readonly pass: (ms: number) => Promise<void>;
  readonly compact: (revision: number) => Promise<void>;
}

/** Creates a document, if the guards hold. */
export const createChange = (key: string, document: unknown, ...guards: Guard[]): Change => ({
  guards: [{ key, at: 0 }, ...guards],
  puts: [{ key, bytes: encode(document) }],
  deletes: [],
});

/** Remembers everything that it is told, and what the state amounts to. */
export class RecordingWatch implements WatchHandler {
  readonly revisions: (readonly WatchEvent[])[] = [];
  readonly #state = new Map<string, Entry>();
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  firstRevision: Revision | undefined;
  resets = 0;
  up = false;

  static follow(store: Store, options: FollowOptions = {}): RecordingWatch {
    const feed = new RecordingWatch();
    feed.#running = store.follow(feed, options, feed.#stop.signal);
    return feed;
  }

  get events(): readonly WatchEvent[] {
    return this.revisions.flat();
  }

  keys(): ReadonlyMap<string, Entry> {
    return this.#state;
  }

  onReset({ entries, revision }: Listing): void {
    this.resets++;
    this.firstRevision ??= revision;
    this.#state.clear();
    for (const entry of entries) this.#state.set(entry.key, entry);
  }

  onEvents(events: readonly WatchEvent[]): void {
    this.revisions.push(events);
    for (const { key, entry } of events) {
      if (entry) this.#state.set(key, entry);
      else this.#state.delete(key);
    }
  }

  onConnected(up: boolean): void {
    this.up = up;
  }

  synced(): Promise<void> {
    return this.until(() => this.resets > 0 && this.up);
  }

  /** Looks until `seen`, and fails when that takes too long. */
  async until(seen: () => boolean, withinMs = 60_000): Promise<void> {
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

/** Delays everything of one process: its timers do not fire while it is paused, though time goes on. */
export class PausableClock implements Clock {
  readonly #clock: Clock;
  readonly #held: (() => void)[] = [];
  paused = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(ms: number, fire: () => void) {
    return this.#clock.after(ms, () => (this.paused ? void this.#held.push(fire) : fire()));
  }

  resume(): void {
    this.paused = false;
    for (const fire of this.#held.splice(0)) fire();
  }
}
