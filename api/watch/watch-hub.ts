import type { Cache } from '../../pkg/store/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import { asError } from '../../pkg/fault/index.js';
import type { Logger } from '../../pkg/log/index.js';
import type { Metrics } from '../../pkg/metrics/index.js';
import { repeatEvery } from '../stream/open-streams.js';
import { WatchHistory } from './history.js';
import { formatCursor } from '../http/listing.js';
import { encodeFrameLine } from './frame.js';
import type { Resource } from '../http/resource.js';
import { Watcher, type WatcherOptions } from './watcher.js';

/** Half of what clients are promised: an idle watcher gets a line at least every 15 s. */
const TICK_MS = 7_000;

export interface WatchHubEnv {
  readonly cache: Cache;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly resources: readonly Resource[];
  /** Number of changes that are kept for watchers that resume. */
  readonly capacity: number;
}

/** All watchers of this server: one history, one timer, and a set of watchers for each topic. */
export class WatchHub {
  readonly history: WatchHistory;
  readonly #byTopic = new Map<string, Set<Watcher>>();
  readonly #metrics: Metrics;
  readonly #log: Logger;
  readonly #stop: () => void;

  constructor({ cache, clock, metrics, log, resources, capacity }: WatchHubEnv) {
    this.#metrics = metrics;
    this.#log = log;
    this.history = new WatchHistory(cache, resources, capacity, {
      onFrames: (from, topics) => {
        for (const topic of topics) for (const watcher of this.#byTopic.get(topic) ?? []) watcher.wake(from);
      },
      onReset: () => this.#each(watcher => watcher.reset()),
    });
    this.#stop = repeatEvery(clock, TICK_MS, () => this.#tick());
  }

  /** Starts a watcher. It removes itself when it ends. */
  open(options: Omit<WatcherOptions, 'history' | 'ended' | 'failed'>, ended: () => void): Watcher {
    const watchers = this.#byTopic.get(options.topic) ?? new Set();
    this.#byTopic.set(options.topic, watchers);
    const watcher: Watcher = new Watcher({
      ...options,
      history: this.history,
      ended: because => {
        queueMicrotask(() => this.#remove(watcher));
        if (because !== 'left') this.#metrics.count('mooring_tails_cut_total', { because });
        ended();
      },
      failed: thrown => this.#log.error('a watch failed', { error: asError(thrown) }),
    });
    watchers.add(watcher);
    return watcher;
  }

  /** Ends all watchers, and the timer. */
  close(): void {
    this.#stop();
    this.#each(watcher => watcher.close());
  }

  get size(): number {
    return [...this.#byTopic.values()].reduce((sum, watchers) => sum + watchers.size, 0);
  }

  #tick(): void {
    const cursor = formatCursor(String(this.history.revision), this.history.epoch);
    const bookmark = {
      ndjson: encodeFrameLine('ndjson', 'bookmark', cursor),
      sse: encodeFrameLine('sse', 'bookmark', cursor),
    };
    this.#each(watcher => watcher.tick(bookmark));
  }

  #each(act: (watcher: Watcher) => void): void {
    for (const watchers of this.#byTopic.values()) for (const watcher of watchers) act(watcher);
  }

  #remove(watcher: Watcher): void {
    const watchers = this.#byTopic.get(watcher.topic);
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#byTopic.delete(watcher.topic);
  }
}
