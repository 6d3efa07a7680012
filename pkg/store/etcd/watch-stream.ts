import type { Cancel, Clock } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { Logger } from '../../log/index.js';
import type { Happening, Revision } from '../store.js';
import { byRevision } from './happenings.js';
import type { KeyRange } from './key-range.js';
import type { Line, MessageStream } from './line.js';
import { decodeWatch, encodeProgress, encodeWatch, type WatchNews } from './watch-messages.js';
import type { Wire } from './wire.js';

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
  { wire, clock, log }: { readonly wire: Wire; readonly clock: Clock; readonly log: Logger },
  ask: WatchAsk,
  ears: WatchEars,
  signal: AbortSignal,
): Promise<WatchEnd> {
  if (signal.aborted) return 'stopped';
  let line: Line | undefined;
  try {
    line = await wire.dial();
    return await new WatchStream(line, { clock, log }, ask, ears).end(signal);
  } catch (thrown) {
    log.debug('a watch could not be opened', { error: asError(thrown) });
    return 'lost';
  } finally {
    line?.close();
  }
}

class WatchStream {
  readonly #stream: MessageStream;
  readonly #clock: Clock;
  readonly #ask: WatchAsk;
  readonly #ears: WatchEars;
  readonly #ended: Promise<WatchEnd>;
  #watchId: number | undefined;
  #fragments: Omit<Happening, 'position'>[] = [];
  #heard = true;
  #cancelTick: Cancel = () => undefined;
  #finish!: (why: WatchEnd) => void;

  constructor(line: Line, { clock, log }: { clock: Clock; log: Logger }, ask: WatchAsk, ears: WatchEars) {
    this.#clock = clock;
    this.#ask = ask;
    this.#ears = ears;
    this.#ended = new Promise(resolve => {
      this.#finish = resolve;
    });
    this.#stream = line.converse('/etcdserverpb.Watch/Watch', {
      message: message => this.#received(decodeWatch(message, ask.stem)),
      ended: cause => {
        if (cause) log.debug('a watch broke', { error: cause });
        this.#finish('lost');
      },
    });
  }

  async end(signal: AbortSignal): Promise<WatchEnd> {
    const stop = () => this.#finish('stopped');
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    this.#stream.say(encodeWatch(this.#ask.range, this.#ask.from));
    this.#tick();

    const why = await this.#ended;
    this.#watchId = undefined; // whatever still arrives is nobody's
    signal.removeEventListener('abort', stop);
    this.#cancelTick();
    this.#stream.close();
    return why;
  }

  /** Asks for progress only to hear something: before 3.4.25 the revision of the answer can run ahead of the events. */
  #tick(missed = 0): void {
    this.#cancelTick = this.#clock.after(this.#ask.livenessMs, () => {
      const silent = this.#heard ? 0 : missed + 1;
      this.#heard = false;
      if (silent === 2) return this.#finish('lost');
      this.#stream.say(encodeProgress());
      return this.#tick(silent);
    });
  }

  #received(news: WatchNews): void {
    this.#heard = true;
    if (news.canceled) return this.#finish('discontinued');
    if (news.created) return this.#taken(news);
    if (news.watchId !== this.#watchId || news.events.length === 0) return undefined;

    for (const event of news.events) this.#fragments.push(event);
    if (news.fragment) return undefined;
    const events = this.#fragments;
    this.#fragments = [];
    for (const happenings of byRevision(events, this.#ask.from)) this.#ears.happened(happenings);
    return undefined;
  }

  /** The revision of this answer is the store's present one. It says nothing about what has been delivered. */
  #taken({ clusterId, revision, watchId }: WatchNews): void {
    if (clusterId !== this.#ask.clusterId || revision < this.#ask.from - 1) return this.#finish('discontinued');
    this.#watchId = watchId;
    return this.#ears.created();
  }
}
