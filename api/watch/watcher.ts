import type { ServerResponse } from 'node:http';

import type { JoinedEntry, WatchFrame } from './frame.js';
import type { WatchHistory } from './history.js';
import type { LineWriter, SharedBookmark } from './lines.js';

/** The current state that a watch starts with, in the order of names. */
export interface InitialList {
  readonly revision: number;
  readonly items: Iterator<JoinedEntry>;
  /** The rest of it, where that is read from the store page by page. Undefined when nothing follows. */
  readonly next?: (() => Promise<InitialList>) | undefined;
}

/** Why a watch ended: its client was too slow, its place is not kept any more, a line could not be made, or its client left. */
type WatchEnd = 'slow' | 'reset' | 'failed' | 'left';

export interface WatcherOptions {
  readonly history: WatchHistory;
  readonly out: ServerResponse;
  /** The tenant's range of the resource. */
  readonly topic: string;
  readonly lines: LineWriter;
  /** Number of the first frame that the client has not received. */
  readonly from: number;
  readonly initialList: InitialList | undefined;
  readonly ended: (because: WatchEnd) => void;
  /** A line could not be made: the watch ends, and no other one is touched. */
  readonly failed: (thrown: unknown) => void;
}

const BATCH_BYTES = 64 * 1024;

/** How long a client that was cut has to read what was sent before. */
const DRAIN_MS = 10_000;

/**
 * One client that watches.
 *
 * It holds a place in the history, never a queue: when the client reads slowly the place stays behind, and when the
 * history has moved past it the client is notified and cut. So a watcher costs the same however slow its client is.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  #number: number;
  #opening: InitialList | undefined;
  #blocked = false;
  #isLoading = false;
  #over = false;
  #batch: Buffer[] = [];
  #batched = 0;
  /** Whether a line was sent since the last tick. */
  #hasWritten = true;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#number = options.from;
    this.#opening = options.initialList;
    options.out.on('drain', () => {
      this.#blocked = false;
      this.#advance();
    });
    options.out.once('close', () => this.#end('left'));
    this.#advance();
  }

  get topic(): string {
    return this.#options.topic;
  }

  /** There are new frames, from that number on. */
  wake(from: number): void {
    // A watcher that is up to date skips the frames of other topics.
    if (!this.#blocked && !this.#opening) this.#number = Math.max(this.#number, from);
    this.#advance();
  }

  /** Time passes: a quiet client gets a bookmark, one that fell out of the history is cut. */
  tick(bookmark: SharedBookmark): void {
    if (this.#over) return;
    if (this.#blocked || this.#opening) {
      if (this.#isLost()) this.#cut('slow');
      return;
    }
    this.#number = this.#options.history.next;
    const line = this.#hasWritten ? undefined : this.#options.lines.idle(bookmark);
    if (line) this.#options.out.write(line);
    this.#hasWritten = false;
  }

  /** Ends it with a `gone` line: the client must list again. */
  reset(): void {
    this.#cut('reset');
  }

  /** Ends it in good order: the client may resume where it is. */
  close(): void {
    if (this.#over) return;
    this.#options.out.end();
    this.#end('left');
  }

  #advance(): void {
    if (this.#over || this.#blocked) return;
    try {
      this.#open();
      this.#follow();
      this.#flush();
    } catch (thrown) {
      this.#options.failed(thrown);
      this.#cut('failed');
    }
  }

  #open(): void {
    const { lines } = this.#options;
    while (this.#opening && !this.#blocked && !this.#isLoading) {
      const { items, revision, next: load } = this.#opening;
      const next = items.next();
      if (next.done && load) return void this.#load(load);
      if (next.done) {
        this.#opening = undefined;
        this.#write(lines.opened(revision));
        return;
      }
      this.#write(lines.listed(next.value, revision));
    }
  }

  async #load(load: () => Promise<InitialList>): Promise<void> {
    this.#isLoading = true;
    try {
      const list = await load();
      if (!this.#over) this.#opening = list;
    } catch {
      this.#cut('reset'); // the revision of the list was compacted, or the store is away: the client lists again
    }
    this.#isLoading = false;
    this.#advance();
  }

  #follow(): void {
    const { history, topic, lines } = this.#options;
    while (!this.#opening && !this.#blocked && this.#number < history.next) {
      const frame: WatchFrame | undefined = history.at(this.#number);
      if (!frame) return this.#cut('slow');
      this.#number++;
      if (frame.topic === topic) this.#write(lines.changed(frame));
    }
  }

  /** Batches lines into one write, up to a size that does not block a slow client for long. */
  #write(bytes: Buffer | undefined): void {
    if (!bytes) return;
    this.#batch.push(bytes);
    this.#batched += bytes.length;
    if (this.#batched >= BATCH_BYTES) this.#flush();
  }

  #flush(): void {
    const [first, second] = this.#batch;
    if (!first) return;
    const bytes = second ? Buffer.concat(this.#batch, this.#batched) : first;
    this.#batch = [];
    this.#batched = 0;
    this.#hasWritten = true;
    if (!this.#over) this.#blocked = !this.#options.out.write(bytes);
  }

  #isLost(): boolean {
    const { history } = this.#options;
    return this.#number < history.next && history.at(this.#number) === undefined;
  }

  #cut(because: Exclude<WatchEnd, 'left'>): void {
    if (this.#over) return;
    const { out, lines } = this.#options;
    this.#flush();
    out.end(lines.gone());
    out.socket?.setTimeout(DRAIN_MS, () => out.socket?.destroy());
    this.#end(because);
  }

  #end(because: WatchEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#opening = undefined;
    this.#options.ended(because);
  }
}
