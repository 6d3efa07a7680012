import { backoffMs, type Clock, type Random, sleep } from '../clock/index.js';
import { readLines } from '../ndjson/index.js';
import type { Exchange, Refusal } from './answer.js';
import type { Change, Line } from './change.js';
import { BrokenAnswerFault, UnreachableFault } from './faults.js';
import { Ledger } from './ledger.js';

import type { Query } from './transport.js';

export interface WatchOptions {
  /** Begin after this cursor instead of with everything that exists. */
  readonly after?: string;
  readonly signal?: AbortSignal;
  /** Told when the connection is lost, and when it is back. */
  readonly onConnection?: (up: boolean) => void;
  /** Silence after which the connection counts as lost. The server sends a line at least every 15 s. */
  readonly idleMs?: number;
}

type Open = (query: Query, signal: AbortSignal) => Promise<Exchange>;

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
): AsyncGenerator<Change<T>> {
  const ledger = new Ledger<T>(options.after);
  let failures = 0;
  let reached = false;
  const connection = transitions(options.onConnection);
  while (!options.signal?.aborted) {
    let retryAfterMs = 0;
    const patience = new Patience(clock, options);
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

async function* read<T>(body: AsyncIterable<Buffer>, ledger: Ledger<T>, patience: Patience): AsyncGenerator<Change<T>> {
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

function parse<T>(text: string): Line<T> {
  try {
    return JSON.parse(text) as Line<T>;
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
function isPassing({ status }: Refusal): boolean {
  return status === 429 || status === 503;
}

/** Ends one connection when the reader leaves or when nothing was heard for too long. */
class Patience {
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
