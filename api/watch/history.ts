import { readRestoreEpoch } from '../../pkg/link/index.js';
import type { Cache } from '../../pkg/store/index.js';
import type { Resource } from '../http/resource.js';
import {
  createCursorAfter,
  isBefore,
  type JoinedEntry,
  toWatchFrame,
  type WatchCursor,
  type WatchFrame,
} from './frame.js';

/** Frames are also dropped when they keep more memory than this: the number alone would bound it by the largest objects. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Is called when frames are added, or when the history is reset. */
export interface WatchHistoryListener {
  /** The frames from `from` on are new; they are about these topics. */
  onFrames(from: number, topics: ReadonlySet<string>): void;
  /** No earlier cursor can be resumed: changes may have been missed. */
  onReset(): void;
}

/**
 * The latest changes to everything that can be watched, kept once for all watchers.
 *
 * Frames are numbered in order and the oldest are overwritten. A watcher holds a number, not a queue.
 */
export class WatchHistory {
  readonly #cache: Cache;
  readonly #capacity: number;
  readonly #ring: (WatchFrame | undefined)[] = [];
  readonly #listener: WatchHistoryListener;
  /** Number of the oldest frame that is kept. */
  #first = 0;
  /** Number of the next frame. */
  #next = 0;
  #bytes = 0;
  /** The oldest cursor that a watcher can resume from. */
  #floor: WatchCursor = createCursorAfter(0);
  #revision = 0;
  #resetting = false;
  #topics = new Set<string>();
  #notified = 0;

  constructor(cache: Cache, resources: readonly Resource[], capacity: number, listener: WatchHistoryListener) {
    this.#cache = cache;
    this.#capacity = Math.max(1, capacity);
    this.#listener = listener;
    this.#floor = createCursorAfter(cache.revision);
    this.#revision = cache.revision;
    cache.onReset(revision => this.#reset(revision));
    cache.subscribe(change => {
      if (this.#resetting) return;
      for (const resource of resources) {
        const frame = toWatchFrame(change, resource, key => cache.get(key));
        if (frame) this.#push(frame);
      }
    });
    cache.onRevision(revision => this.#complete(revision));
  }

  /** The revision up to which everything has been numbered. */
  get revision(): number {
    return this.#revision;
  }

  /** The restore epoch of the store: cursors of another one count for nothing. */
  get epoch(): number | undefined {
    return readRestoreEpoch(this.#cache);
  }

  /** How many frames are kept. */
  get size(): number {
    return this.#next - this.#first;
  }

  /** How much memory the frames keep, roughly. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of the next frame. */
  get next(): number {
    return this.#next;
  }

  /** The frame with this number; undefined when it was overwritten. */
  at(number: number): WatchFrame | undefined {
    return number < this.#first ? undefined : this.#ring[number % this.#capacity];
  }

  /** Number of the first frame after a cursor; undefined when some frame after it was overwritten. */
  numberAfter(cursor: WatchCursor): number | undefined {
    if (isBefore(cursor, this.#floor)) return undefined;
    let low = this.#first;
    let high = this.#next;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (isBefore(cursor, this.at(middle)!)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The objects of a topic that have changed since the frame with this number: name → how they were before it. */
  undone(topic: string, number: number): Map<string, JoinedEntry | undefined> {
    const different = new Map<string, JoinedEntry | undefined>();
    for (let at = this.#next - 1; at >= number; at--) {
      const frame = this.at(at)!;
      if (frame.topic === topic) different.set(frame.name, frame.before);
    }
    return different;
  }

  #push(frame: WatchFrame): void {
    this.#bytes += frame.bytes;
    while (this.size === this.#capacity || (this.#bytes > MAX_BYTES && this.size > 0)) this.#drop();
    this.#ring[this.#next % this.#capacity] = frame;
    this.#next++;
    this.#topics.add(frame.topic);
  }

  #drop(): void {
    const slot = this.#first % this.#capacity;
    const dropped = this.#ring[slot]!;
    this.#floor = dropped;
    this.#bytes -= dropped.bytes;
    this.#ring[slot] = undefined;
    this.#first++;
  }

  #reset(revision: number): void {
    this.#resetting = true;
    this.#ring.length = 0;
    // Numbers are never reused, so no watcher mistakes a new frame for an old one; a full ring of them counts as lost.
    this.#next = Math.ceil((this.#next + 1) / this.#capacity) * this.#capacity;
    this.#first = this.#next;
    this.#bytes = 0;
    this.#floor = createCursorAfter(revision);
    this.#topics = new Set();
  }

  #complete(revision: number): void {
    this.#revision = revision;
    if (this.#resetting) {
      this.#resetting = false;
      this.#notified = this.#next;
      this.#listener.onReset();
      return;
    }
    const from = this.#notified;
    this.#notified = this.#next;
    if (this.#topics.size === 0) return;
    const topics = this.#topics;
    this.#topics = new Set();
    this.#listener.onFrames(from, topics);
  }
}
