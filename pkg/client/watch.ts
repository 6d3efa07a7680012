import { backoffMs, type Clock, type Random, sleep } from '../clock/index.js';
import { readLines } from '../ndjson/index.js';
import {
  BrokenAnswerFault,
  type WatchChange,
  type StreamAnswer,
  type WatchLine,
  type RejectionAnswer,
  UnreachableFault,
} from './answer.js';
import type { QueryParameters } from './transport.js';

export interface WatchOptions {
  /** Begin after this cursor instead of with everything that exists. */
  readonly after?: string;
  readonly signal?: AbortSignal;
  /** Told when the connection is lost, and when it is back. */
  readonly onConnection?: (up: boolean) => void;
  /** Silence after which the connection counts as lost. The server sends a line at least every 15 s. */
  readonly idleMs?: number;
}

type Open = (query: QueryParameters, signal: AbortSignal) => Promise<StreamAnswer>;

const RECONNECT = { firstMs: 100, capMs: 2_000 };

/**
 * Follows a list until the reader stops or `signal` is aborted.
 *
 * A broken connection resumes after the last delivered line. Where that point is no longer kept, the current state is
 * read again and told as the changes it amounts to. Only a server that could not be reached even once throws.
 */
export async function* watch<T>(
  open: Open,
  options: WatchOptions,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): AsyncGenerator<WatchChange<T>> {
  const ledger = new WatchedObjects<T>(options.after);
  let failures = 0;
  let reached = false;
  const connection = transitions(options.onConnection);
  while (!options.signal?.aborted) {
    let retryAfterMs = 0;
    const patience = new IdleTimeout(clock, options);
    try {
      const exchange = await open({ watch: true, ...ledger.resume() }, patience.signal);
      if (exchange.ok) {
        connection(true);
        reached = true;
        for await (const change of read(exchange.body, ledger, patience)) {
          failures = 0;
          yield change;
        }
      } else if (exchange.status === 410) ledger.startOver();
      else if (!isPassing(exchange)) {
        yield { type: 'refused', refusal: exchange };
        return;
      } else retryAfterMs = exchange.retryAfterMs ?? 0;
    } catch (thrown) {
      if (!(thrown instanceof UnreachableFault)) throw thrown;
      if (!reached && !options.signal?.aborted) throw thrown;
    } finally {
      patience.end();
    }
    if (options.signal?.aborted) return;
    connection(false);
    await sleep(clock, Math.max(retryAfterMs, backoffMs(++failures, RECONNECT, random)), options.signal);
  }
}

async function* read<T>(
  body: AsyncIterable<Buffer>,
  ledger: WatchedObjects<T>,
  patience: IdleTimeout,
): AsyncGenerator<WatchChange<T>> {
  patience.heard();
  for await (const text of readLines(body)) {
    patience.heard();
    const line = parse<T>(text);
    if (line.type === 'gone') {
      ledger.startOver();
      return;
    }
    yield* ledger.enter(line);
  }
}

function parse<T>(text: string): WatchLine<T> {
  try {
    return JSON.parse(text) as WatchLine<T>;
  } catch {
    throw new BrokenAnswerFault('the watch', 200, 'a line of it is not JSON');
  }
}

/** Tells a listener when the connection goes and when it is back, not again while it stays so. */
function transitions(listener: WatchOptions['onConnection']): (up: boolean) => void {
  let before = true;
  return up => {
    if (up !== before) listener?.(up);
    before = up;
  };
}

/** Busy and restarting servers are waited for; everything else is an answer. */
function isPassing({ status }: RejectionAnswer): boolean {
  return status === 429 || status === 503;
}

/** Ends one connection when the reader leaves or when nothing was heard for too long. */
class IdleTimeout {
  readonly #gaveUp = new AbortController();
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #outer: AbortSignal | undefined;
  readonly #leave = () => this.#gaveUp.abort();
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, { idleMs = 45_000, signal }: WatchOptions) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#outer = signal;
    signal?.addEventListener('abort', this.#leave, { once: true });
  }

  get signal(): AbortSignal {
    return this.#gaveUp.signal;
  }

  heard(): void {
    this.#cancel();
    this.#cancel = this.#clock.after(this.#idleMs, this.#leave);
  }

  end(): void {
    this.#cancel();
    this.#outer?.removeEventListener('abort', this.#leave);
    this.#gaveUp.abort();
  }
}

interface Held<T> {
  readonly object: T;
  readonly print: string;
}

/**
 * What a tail has delivered so far, and from where it goes on.
 *
 * It exists for the day a cursor is no longer kept: the list that is then read again is compared with what was
 * delivered, so that the reader hears of what changed and of what vanished meanwhile, and of nothing else.
 */
export class WatchedObjects<T> {
  readonly #held = new Map<string, Held<T>>();
  /** While the list is read again: the objects that have not been met in it yet. */
  #unmet: Set<string> | undefined;
  #cursor: string | undefined;

  constructor(after: string | undefined) {
    this.#cursor = after;
  }

  /** What the next connection asks for: everything after the last line, or the whole list. */
  resume(): { readonly after?: string } {
    if (this.#cursor !== undefined) return { after: this.#cursor };
    this.#unmet = new Set(this.#held.keys());
    return {};
  }

  /** The cursor is worthless: the next connection lists everything. */
  startOver(): void {
    this.#cursor = undefined;
  }

  *enter(line: WatchLine<T>): Generator<WatchChange<T>> {
    if (line.type === 'bookmark') {
      this.#cursor = line.cursor;
      yield* this.#vanished(line.cursor);
      yield { type: 'bookmark', cursor: line.cursor };
      return;
    }
    // Half a list is no place to resume from: until its bookmark has come, a break reads the list again.
    if (this.#cursor !== undefined) this.#cursor = line.cursor;
    yield* this.#changed(line);
  }

  *#changed(line: WatchLine<T>): Generator<WatchChange<T>> {
    const id = identityOf(line.object);
    const print = JSON.stringify(line.object);
    const known = this.#held.get(id);
    this.#unmet?.delete(id);
    if (line.type === 'deleted') {
      this.#held.delete(id);
      yield { type: 'deleted', cursor: line.cursor, object: line.object };
      return;
    }
    if (known?.print === print) return;
    this.#held.set(id, { object: line.object, print });
    yield { type: known ? 'modified' : (line.type as 'added' | 'modified'), cursor: line.cursor, object: line.object };
  }

  *#vanished(cursor: string): Generator<WatchChange<T>> {
    for (const id of this.#unmet ?? []) {
      const held = this.#held.get(id);
      this.#held.delete(id);
      if (held) yield { type: 'deleted', cursor, object: held.object };
    }
    this.#unmet = undefined;
  }
}

function identityOf(object: unknown): string {
  const { metadata, id, name } = object as {
    readonly metadata?: { readonly uid?: string };
    readonly id?: string;
    readonly name?: string;
  };
  return metadata?.uid ?? id ?? name ?? JSON.stringify(object);
}
