import type { Etcd3, IDuplexStream, IEvent, IWatchRequest, IWatchResponse } from 'etcd3';

import type { Cancel, Clock } from '../../clock/index.js';
import type { Happening, Revision } from '../store.js';
import { byRevision } from './happenings.js';
import type { KeyRange } from './key-range.js';

/**
 * Why a watch ended: it was stopped, the connection failed, or the server cannot continue where we were (compacted, or
 * another history altogether), so that only a new list helps.
 */
export type WatchEnd = 'stopped' | 'lost' | 'discontinued';

export interface WatchAsk {
  readonly range: KeyRange;
  /** Taken off the keys. */
  readonly stem: string;
  /** The first revision that is wanted. */
  readonly from: Revision;
  /** The cluster that `from` was learnt from. */
  readonly clusterId: string;
  /** A stream that says nothing for two of these, though asked each time, is given up. */
  readonly livenessMs: number;
}

/** Hears one watch. */
export interface WatchEars {
  /** The server has taken up the watch. */
  created(): void;
  /** All that happened at one revision. */
  happened(happenings: readonly Happening[]): void;
}

/** Watches from one revision on, until the stream breaks or `signal` is aborted. */
export async function watchOnce(
  { clients, clock }: { readonly clients: Etcd3; readonly clock: Clock },
  ask: WatchAsk,
  ears: WatchEars,
  signal: AbortSignal,
): Promise<WatchEnd> {
  if (signal.aborted) return 'stopped';
  try {
    return await new WatchStream(await clients.watchClient.watch(), clock, ask, ears).end(signal);
  } catch {
    return 'lost';
  }
}

class WatchStream {
  readonly #raw: IDuplexStream<IWatchRequest, IWatchResponse>;
  readonly #clock: Clock;
  readonly #ask: WatchAsk;
  readonly #ears: WatchEars;
  #watchId: string | undefined;
  #fragments: IEvent[] = [];
  #heard = true;
  #cancelTick: Cancel = () => undefined;
  #finish: (why: WatchEnd) => void = () => undefined;

  constructor(raw: IDuplexStream<IWatchRequest, IWatchResponse>, clock: Clock, ask: WatchAsk, ears: WatchEars) {
    this.#raw = raw;
    this.#clock = clock;
    this.#ask = ask;
    this.#ears = ears;
  }

  async end(signal: AbortSignal): Promise<WatchEnd> {
    const stop = () => this.#finish('stopped');
    const ended = new Promise<WatchEnd>(resolve => {
      this.#finish = resolve;
    });
    this.#raw.on('error', () => this.#finish('lost'));
    this.#raw.on('end', () => this.#finish('lost'));
    this.#raw.on('data', response => this.#received(response));
    signal.addEventListener('abort', stop, { once: true });
    this.#create();
    this.#tick();

    const why = await ended;
    this.#watchId = undefined; // whatever still arrives is nobody's
    signal.removeEventListener('abort', stop);
    this.#cancelTick();
    this.#raw.cancel();
    return why;
  }

  #create(): void {
    const { range, from } = this.#ask;
    this.#raw.write({
      create_request: {
        key: Buffer.from(range.key),
        range_end: range.end,
        start_revision: String(from),
        fragment: true,
      },
    });
  }

  /** Asks for progress only to hear something: before 3.4.25 the revision of the answer can run ahead of the events. */
  #tick(missed = 0): void {
    this.#cancelTick = this.#clock.after(this.#ask.livenessMs, () => {
      const silent = this.#heard ? 0 : missed + 1;
      this.#heard = false;
      if (silent === 2) return this.#finish('lost');
      this.#raw.write({ progress_request: {} });
      return this.#tick(silent);
    });
  }

  #received(response: IWatchResponse): void {
    this.#heard = true;
    if (response.canceled) return this.#finish('discontinued');
    if (response.created) return this.#taken(response);
    if (response.watch_id !== this.#watchId || response.events.length === 0) return undefined;

    for (const event of response.events) this.#fragments.push(event);
    if (response.fragment) return undefined;
    const events = this.#fragments;
    this.#fragments = [];
    for (const happenings of byRevision(events, this.#ask.stem, this.#ask.from)) this.#ears.happened(happenings);
    return undefined;
  }

  /** The revision of this answer is the store's present one. It says nothing about what has been delivered. */
  #taken({ header, watch_id }: IWatchResponse): void {
    const { clusterId, from } = this.#ask;
    if (header.cluster_id !== clusterId || Number(header.revision) < from - 1) return this.#finish('discontinued');
    this.#watchId = watch_id;
    return this.#ears.created();
  }
}
