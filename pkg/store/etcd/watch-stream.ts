import type { Cancel, Clock } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { Logger } from '../../log/index.js';
import { StoreUnavailableFault } from '../faults.js';
import type { Revision } from '../entry.js';
import type { WatchEvent } from '../store.js';
import type { EtcdClient } from './etcd-client.js';
import type { EtcdConnection, MessageStream } from './etcd-connection.js';
import { type KeyRange, toRangeBelow } from './messages.js';
import { decodeWatch, encodeProgress, encodeWatch, type WatchResponse } from './stream-messages.js';

/**
 * Why a watch ended: it was stopped, the connection failed, or the server cannot continue where we were (compacted, or
 * another history altogether), so that only a new list helps.
 */
export type WatchEnd = 'stopped' | 'lost' | 'discontinued';

export interface WatchRequest {
  readonly range: KeyRange;
  /** Taken off the keys. */
  readonly stem: string;
  /** The first revision that is wanted. */
  readonly from: Revision;
  /** The cluster that `from` was learnt from. */
  readonly clusterId: string;
  /** The revision of the store, by a linearizable read. */
  readonly currentRevision: () => Promise<Revision>;
  /** A stream that says nothing for two of these, though asked each time, is given up. */
  readonly livenessMs: number;
}

/** Receives what one watch delivers. */
export interface EtcdWatchHandler {
  /** The server has taken up the watch. */
  onCreated(): void;
  /** All that happened at one revision. */
  onEvents(events: readonly WatchEvent[]): void;
}

/** Watches from one revision on, until the stream breaks or `signal` is aborted. */
export async function watchOnce(
  { client, clock, log }: { readonly client: EtcdClient; readonly clock: Clock; readonly log: Logger },
  ask: WatchRequest,
  handler: EtcdWatchHandler,
  signal: AbortSignal,
): Promise<WatchEnd> {
  if (signal.aborted) return 'stopped';
  let connection: EtcdConnection | undefined;
  try {
    connection = await client.dial();
    return await new WatchStream(connection, { clock, log }, ask, handler).end(signal);
  } catch (thrown) {
    log.debug('a watch could not be opened', { error: asError(thrown) });
    return 'lost';
  } finally {
    connection?.close();
  }
}

class WatchStream {
  readonly #stream: MessageStream;
  readonly #clock: Clock;
  readonly #ask: WatchRequest;
  readonly #handler: EtcdWatchHandler;
  readonly #ended: Promise<WatchEnd>;
  #watchId: number | undefined;
  /** The first revision that was not delivered yet. */
  #next: Revision;
  #fragments: Omit<WatchEvent, 'position'>[] = [];
  #hasReceived = true;
  #cancelTick: Cancel = () => undefined;
  #finish!: (why: WatchEnd) => void;

  constructor(
    connection: EtcdConnection,
    { clock, log }: { clock: Clock; log: Logger },
    ask: WatchRequest,
    handler: EtcdWatchHandler,
  ) {
    this.#clock = clock;
    this.#ask = ask;
    this.#next = ask.from;
    this.#handler = handler;
    this.#ended = new Promise(resolve => {
      this.#finish = resolve;
    });
    this.#stream = connection.openStream('/etcdserverpb.Watch/Watch', {
      onMessage: message => this.#received(decodeWatch(message, ask.stem)),
      onEnd: cause => {
        if (cause) log.debug('a watch broke', { error: cause });
        this.#finish('lost');
      },
    });
  }

  async end(signal: AbortSignal): Promise<WatchEnd> {
    const stop = () => this.#finish('stopped');
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    this.#stream.send(encodeWatch(this.#ask.range, this.#ask.from));
    this.#tick();

    const why = await this.#ended;
    this.#watchId = undefined; // messages that still arrive are dropped
    signal.removeEventListener('abort', stop);
    this.#cancelTick();
    this.#stream.close();
    return why;
  }

  /** Asks for progress only to receive something: before 3.4.25 the revision of the answer can run ahead of the events. */
  #tick(missed = 0): void {
    this.#cancelTick = this.#clock.after(this.#ask.livenessMs, () => {
      const silent = this.#hasReceived ? 0 : missed + 1;
      this.#hasReceived = false;
      if (silent === 2) return this.#finish('lost');
      this.#stream.send(encodeProgress());
      return this.#tick(silent);
    });
  }

  #received(news: WatchResponse): void {
    this.#hasReceived = true;
    if (news.canceled) return this.#finish('discontinued');
    if (news.created) return this.#taken(news);
    if (news.watchId !== this.#watchId || news.events.length === 0) return undefined;

    for (const event of news.events) this.#fragments.push(event);
    if (news.fragment) return undefined;
    const events = this.#fragments;
    this.#fragments = [];
    // Before 3.4.25 and 3.5.8, a member that was sent a snapshot replays old events: only what is newer counts.
    for (const atOneRevision of groupByRevision(events, this.#next)) {
      const { revision } = atOneRevision[0]!;
      if (revision < this.#next) continue;
      this.#next = revision + 1;
      this.#handler.onEvents(atOneRevision);
    }
    return undefined;
  }

  /** The revision of this answer is the store's present one. It says nothing about what has been delivered. */
  #taken({ clusterId, revision, watchId }: WatchResponse): void {
    if (clusterId !== this.#ask.clusterId) return this.#finish('discontinued');
    this.#watchId = watchId;
    if (revision < this.#ask.from - 1) void this.#checkBehind();
    return this.#handler.onCreated();
  }

  /** A member may only be behind the others, and then delivers the rest; a store that was restored has gone back for good. */
  async #checkBehind(): Promise<void> {
    try {
      if ((await this.#ask.currentRevision()) < this.#ask.from - 1) this.#finish('discontinued');
    } catch {
      this.#finish('lost');
    }
  }
}

/** etcd's events as `WatchEvent`s, one list for each revision, in order. Events below `from` are dropped. */
export function groupByRevision(events: readonly Omit<WatchEvent, 'position'>[], from: Revision): WatchEvent[][] {
  const revisions: WatchEvent[][] = [];
  let current: WatchEvent[] = [];
  for (const { revision, key, entry } of events) {
    if (revision < from) continue;
    if (current[0]?.revision !== revision) {
      current = [];
      revisions.push(current);
    }
    current.push({ revision, position: current.length, key, entry });
  }
  return revisions;
}

export interface HistoryOptions {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly root: string;
  readonly clusterId: () => Promise<string>;
  readonly currentRevision: () => Promise<Revision>;
  readonly withinMs: number;
}

/**
 * All that happened below the root after one revision, up to and with another one. Something must have happened below
 * the root at that other one, because its arrival is what ends the reading.
 */
export async function readHistory(
  options: HistoryOptions,
  after: Revision,
  until: Revision,
): Promise<readonly WatchEvent[]> {
  const { clock, root, withinMs } = options;
  const received: WatchEvent[] = [];
  const stop = new AbortController();
  const cancel = clock.after(withinMs, () => stop.abort());
  let complete = false;
  await watchOnce(
    options,
    {
      range: toRangeBelow(root),
      stem: root,
      from: after + 1,
      clusterId: await options.clusterId(),
      currentRevision: options.currentRevision,
      livenessMs: withinMs,
    },
    {
      onCreated: () => undefined,
      onEvents: events => {
        const revision = events[0]!.revision;
        if (revision <= until) received.push(...events);
        if (revision < until) return;
        complete = true;
        stop.abort();
      },
    },
    stop.signal,
  );
  cancel();
  if (!complete) throw new StoreUnavailableFault('the history of the store could not be read');
  return received;
}
