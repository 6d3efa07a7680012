import { keys, ranges } from '../../crds/keys/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import type { Metrics } from '../../pkg/metrics/index.js';
import type { Cache } from '../../pkg/store/index.js';
import type { Caller } from '../http/route.js';

export type StreamKind = 'watch' | 'assignments' | 'logs';

interface OpenStream {
  readonly kind: StreamKind;
  readonly expiresAt: number;
  readonly end: () => void;
}

const TICK_MS = 1_000;

/** Every open stream, so that it ends when its token is revoked or expires. */
export class OpenStreams {
  readonly #byToken = new Map<string, Set<OpenStream>>();
  readonly #counts: Record<StreamKind, number> = { watch: 0, assignments: 0, logs: 0 };
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #stops: readonly (() => void)[];

  constructor({ cache, clock, metrics }: { readonly cache: Cache; readonly clock: Clock; readonly metrics: Metrics }) {
    this.#cache = cache;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#stops = [
      cache.subscribe(({ key, entry }) => {
        if (!entry && key.startsWith(ranges.tokens)) this.#end(key.slice(ranges.tokens.length));
      }),
      repeatEvery(clock, TICK_MS, () => this.#endExpired()),
    ];
  }

  /**
   * Notes an open stream. Returns what to call when it is over; `end` is called when it must be: not within this call,
   * but right after it when the token was revoked while the stream was being opened.
   */
  add(kind: StreamKind, { id, token }: Caller, end: () => void): () => void {
    const stream = { kind, end, expiresAt: Date.parse(token?.expiresAt ?? '') };
    const streams = this.#byToken.get(id) ?? new Set();
    this.#byToken.set(id, streams.add(stream));
    this.#count(kind, 1);
    if (!this.#cache.get(keys.token(id))) queueMicrotask(end);
    return () => {
      if (!streams.delete(stream)) return;
      if (streams.size === 0 && this.#byToken.get(id) === streams) this.#byToken.delete(id);
      this.#count(kind, -1);
    };
  }

  /** Ends everything. */
  close(): void {
    for (const stop of this.#stops) stop();
    for (const id of this.#byToken.keys()) this.#end(id);
  }

  #end(tokenId: string): void {
    for (const stream of this.#byToken.get(tokenId) ?? []) stream.end();
  }

  #endExpired(): void {
    const now = this.#clock.now();
    for (const streams of this.#byToken.values()) {
      for (const stream of streams) if (stream.expiresAt <= now) stream.end();
    }
  }

  #count(kind: StreamKind, change: number): void {
    this.#counts[kind] += change;
    this.#metrics.set('mooring_streams_open', { kind }, this.#counts[kind]);
  }
}

/** Calls `tick` again and again, `ms` after the last time. Returns how to stop it. */
export function repeatEvery(clock: Clock, ms: number, tick: () => void): () => void {
  let cancel = clock.after(ms, fire);
  function fire(): void {
    cancel = clock.after(ms, fire);
    tick();
  }
  return () => cancel();
}
