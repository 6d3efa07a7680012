import type { Entry } from '../../pkg/store/index.js';
import { formatCursor } from '../http/listing.js';
import type { Resource } from '../http/resource.js';
import { encodeFrameLine, type JoinedEntry, type WatchFormat, type WatchFrame } from './frame.js';
import type { WatchHistory } from './history.js';

/** The bookmark of one moment, encoded once for all watchers. */
export type SharedBookmark = Readonly<Record<WatchFormat, Buffer>>;

/** How a watcher writes an event. Undefined: the client is not sent it. */
export interface LineWriter {
  /** An object of the state that a watch starts with, as it was at `revision`. */
  listed(shown: JoinedEntry, revision: number): Buffer | undefined;
  /** That state has been sent in full. */
  opened(revision: number): Buffer | undefined;
  changed(frame: WatchFrame): Buffer | undefined;
  /** Nothing has happened for a while. */
  idle(bookmark: SharedBookmark): Buffer | undefined;
  /** Changes were missed: the client must list again. */
  gone(): Buffer;
}

/** What the lines of the API's own watches are made from. */
export interface WatchLinesOptions {
  readonly format: WatchFormat;
  readonly resource: Resource;
  readonly topic: string;
  readonly history: WatchHistory;
  /** Which objects the client wants. */
  readonly wants: (entry: Entry) => boolean;
}

/** The lines of the API's own watches: JSON, or server-sent events. */
export class WatchLines implements LineWriter {
  readonly #options: WatchLinesOptions;

  constructor(options: WatchLinesOptions) {
    this.#options = options;
  }

  listed({ entry, joined }: JoinedEntry, revision: number): Buffer | undefined {
    const { format, resource, topic, wants } = this.#options;
    if (!wants(entry)) return undefined;
    const cursor = this.#cursor(`${revision}:${entry.key.slice(topic.length)}`);
    return encodeFrameLine(format, 'added', cursor, resource.view(entry, joined));
  }

  opened(revision: number): Buffer {
    return encodeFrameLine(this.#options.format, 'bookmark', this.#cursor(String(revision)));
  }

  changed(frame: WatchFrame): Buffer | undefined {
    const { format, history, wants } = this.#options;
    return wants(frame.current.entry) ? frame.formatLine(format, history.epoch) : undefined;
  }

  idle(bookmark: SharedBookmark): Buffer {
    return bookmark[this.#options.format];
  }

  gone(): Buffer {
    const { format, history } = this.#options;
    return encodeFrameLine(format, 'gone', this.#cursor(String(history.revision)));
  }

  #cursor(place: string): string {
    return formatCursor(place, this.#options.history.epoch);
  }
}
