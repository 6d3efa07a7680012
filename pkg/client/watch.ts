import { backoffMs, type Clock, type Random, sleep } from '../clock/index.js';
import { readLines } from '../ndjson/index.js';
import type { StreamAnswer, WatchChange, WatchLine } from './answer.js';
import { BrokenAnswerFault, UnreachableFault } from './answer.js';
import type { QueryParameters } from './transport.js';

export interface WatchOptions {
  /** Begin after this cursor instead of with the current list. */
  readonly after?: string;
  readonly signal?: AbortSignal;
  /** Called when the connection is lost, and when it is back. */
  readonly onConnection?: (isUp: boolean) => void;
  /** Time without a line after which the connection counts as lost. The server sends a line at least every 15 s. */
  readonly idleMs?: number;
}

/** Opens one connection of a watch. */
type OpenStream = (query: QueryParameters, signal: AbortSignal) => Promise<StreamAnswer>;

const RECONNECT = { firstMs: 100, capMs: 2_000 };

/**
 * Follows a list until the reader stops or `signal` is aborted.
 *
 * A broken connection resumes after the last delivered line. Where the server no longer keeps that cursor, the list is
 * read again and only its differences are delivered. Only a server that could not be reached even once throws.
 */
export async function* watch<T>(
  open: OpenStream,
  { after, signal, onConnection, idleMs = 45_000 }: WatchOptions,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): AsyncGenerator<WatchChange<T>> {
  const objects = new WatchedObjects<T>(after);
  let [failures, isReached, isUp] = [0, false, true];
  const setUp = (now: boolean) => {
    if (now !== isUp) onConnection?.(now);
    isUp = now;
  };
  while (!signal?.aborted) {
    let retryAfterMs = 0;
    const idle = new IdleTimeout(clock, idleMs, signal);
    try {
      const answer = await open({ watch: true, ...objects.resume() }, idle.signal);
      if (answer.ok) {
        setUp(true);
        isReached = true;
        for await (const change of readChanges(answer.body, objects, idle)) {
          failures = 0;
          yield change;
        }
      } else if (answer.status === 410) objects.startOver();
      // Busy and restarting servers are waited for; every other refusal is final.
      else if (answer.status === 429 || answer.status === 503) retryAfterMs = answer.retryAfterMs ?? 0;
      else return yield { type: 'refused', refusal: answer };
    } catch (thrown) {
      if (!(thrown instanceof UnreachableFault)) throw thrown;
      if (!isReached && !signal?.aborted) throw thrown;
    } finally {
      idle.end();
    }
    if (signal?.aborted) return;
    setUp(false);
    await sleep(clock, Math.max(retryAfterMs, backoffMs(++failures, RECONNECT, random)), signal);
  }
}

async function* readChanges<T>(
  body: AsyncIterable<Buffer>,
  objects: WatchedObjects<T>,
  idle: IdleTimeout,
): AsyncGenerator<WatchChange<T>> {
  idle.restart();
  for await (const text of readLines(body)) {
    idle.restart();
    const line = parseLine<T>(text);
    if (line.type === 'gone') return objects.startOver();
    yield* objects.enter(line);
  }
}

function parseLine<T>(text: string): WatchLine<T> {
  try {
    return JSON.parse(text) as WatchLine<T>;
  } catch {
    throw new BrokenAnswerFault('the watch', 200, 'a line of it is not JSON');
  }
}

/** Aborts one connection when the reader stops or when no line has arrived for too long. */
class IdleTimeout {
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();
  readonly #clock: Clock;
  readonly #idleMs: number;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, idleMs: number, outer: AbortSignal | undefined) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.signal = outer ? AbortSignal.any([outer, this.#abort.signal]) : this.#abort.signal;
  }

  restart(): void {
    this.#cancel();
    this.#cancel = this.#clock.after(this.#idleMs, () => this.#abort.abort());
  }

  end(): void {
    this.#cancel();
    this.#abort.abort();
  }
}

/**
 * The objects that a watch has delivered, and its cursor.
 *
 * When the server no longer keeps the cursor, the list is read again and compared with these objects, so that the reader
 * gets what has changed or was deleted meanwhile, and nothing else.
 */
class WatchedObjects<T> {
  readonly #known = new Map<string, { readonly object: T; readonly text: string }>();
  /** While the list is read again: the known objects that have not appeared in it yet. */
  #missing: Set<string> | undefined;
  #cursor: string | undefined;

  constructor(after: string | undefined) {
    this.#cursor = after;
  }

  /** The query of the next connection: from the last line on, or the whole list. */
  resume(): { readonly after?: string } {
    if (this.#cursor !== undefined) return { after: this.#cursor };
    this.#missing = new Set(this.#known.keys());
    return {};
  }

  /** The server no longer keeps the cursor: the next connection lists everything. */
  startOver(): void {
    this.#cursor = undefined;
  }

  *enter(line: WatchLine<T>): Generator<WatchChange<T>> {
    if (line.type === 'bookmark') {
      this.#cursor = line.cursor;
      yield* this.#deleteMissing(line.cursor);
      yield { type: 'bookmark', cursor: line.cursor };
      return;
    }
    // A list cannot be resumed in the middle: before its bookmark, a reconnect reads it again.
    if (this.#cursor !== undefined) this.#cursor = line.cursor;
    const id = getIdentity(line.object);
    const text = JSON.stringify(line.object);
    const known = this.#known.get(id);
    this.#missing?.delete(id);
    if (line.type === 'deleted') {
      this.#known.delete(id);
      yield { type: 'deleted', cursor: line.cursor, object: line.object };
      return;
    }
    if (known?.text === text) return;
    this.#known.set(id, { object: line.object, text });
    yield { type: known ? 'modified' : (line.type as 'added' | 'modified'), cursor: line.cursor, object: line.object };
  }

  *#deleteMissing(cursor: string): Generator<WatchChange<T>> {
    for (const id of this.#missing ?? []) {
      const known = this.#known.get(id);
      this.#known.delete(id);
      if (known) yield { type: 'deleted', cursor, object: known.object };
    }
    this.#missing = undefined;
  }
}

function getIdentity(object: unknown): string {
  const { metadata, id, name } = object as { metadata?: { uid?: string }; id?: string; name?: string };
  return metadata?.uid ?? id ?? name ?? JSON.stringify(object);
}
