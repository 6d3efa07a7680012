import type { FollowOptions, Store, WatchHandler } from '../../pkg/store/index.js';
import type { SimProcess } from './sim-process.js';

const RECONNECT_MS = 2_000;

/** How a feed behaves when its connection was broken. Only `relist` is right. */
export type Reconnecting = 'relist' | 'carry on';

/**
 * The root watch of one simulated process: ordered and complete while it lasts, late at times, and now and then broken.
 *
 * After a break it begins with a complete state, as the real one does when it cannot prove continuity. `carry on` is
 * what a naive client does: it misses what happened meanwhile.
 */
export class SimulatedConnection {
  readonly #process: SimProcess;
  readonly #server: Store;
  readonly #feed: WatchHandler;
  readonly #options: FollowOptions;
  readonly #reconnecting: Reconnecting;
  #inbox: ((feed: WatchHandler) => void)[] = [];
  #connection = new AbortController();
  #pumping = false;
  #resets = 0;

  constructor(
    process: SimProcess,
    server: Store,
    feed: WatchHandler,
    { reconnecting, ...options }: FollowOptions & { readonly reconnecting: Reconnecting },
  ) {
    this.#process = process;
    this.#server = server;
    this.#feed = feed;
    this.#options = options;
    this.#reconnecting = reconnecting;
  }

  /** Follows until `signal` is aborted or the process dies. */
  run(signal: AbortSignal): Promise<void> {
    this.#process.onEnd(() => this.#connection.abort());
    this.#dial(signal);
    return new Promise(resolve => {
      signal.addEventListener(
        'abort',
        () => {
          this.#connection.abort();
          resolve();
        },
        { once: true },
      );
    });
  }

  #dial(signal: AbortSignal): void {
    if (signal.aborted) return;
    if (this.#process.cutOff('store')) return this.#dialLater(signal);

    const connection = new AbortController();
    this.#connection = connection;
    const receive = (message: (feed: WatchHandler) => void) => {
      if (connection.signal.aborted) return;
      this.#inbox.push(message);
      this.#pump(signal);
    };
    void this.#server.follow(
      {
        onReset: listing => {
          const first = this.#resets++ === 0;
          if (first || this.#reconnecting === 'relist') receive(feed => feed.onReset(listing));
        },
        onEvents: events => receive(feed => feed.onEvents(events)),
        onConnected: up => up && receive(feed => feed.onConnected(true)),
      },
      this.#options,
      connection.signal,
    );
  }

  #dialLater(signal: AbortSignal): void {
    const { world } = this.#process;
    this.#process.later(world.between(50, RECONNECT_MS), 'dials the store', () => this.#dial(signal));
  }

  #pump(signal: AbortSignal): void {
    if (this.#pumping || this.#inbox.length === 0) return;
    this.#pumping = true;
    const { world, faults } = this.#process;
    const lagMs = world.chance(faults.feedLag) ? faults.feedLagMs : faults.delayMs;
    this.#process.later(world.between(0, lagMs), 'hears the store', () => {
      this.#pumping = false;
      if (this.#process.cutOff('store') || world.chance(faults.feedCut)) return this.#cut(signal);
      this.#inbox.shift()?.(this.#feed);
      this.#pump(signal);
    });
  }

  #cut(signal: AbortSignal): void {
    this.#connection.abort();
    this.#inbox = [];
    this.#feed.onConnected(false);
    this.#dialLater(signal);
  }
}
