import type { IncomingMessage } from 'node:http';

import type { Clock } from '../../pkg/clock/index.js';
import { LOG_SILENCE_MS, type LogLine, type NodeIdentity } from '../../pkg/link/index.js';
import { readDocuments } from '../../pkg/ndjson/index.js';

const LINE_BYTES = 4 * 1024 * 1024;
/** Longer than an agent takes to find out that its engine does not answer. */
const FIRST_LINE_MS = 9_000;

/** A stream of log lines that an agent has begun to send. */
export interface LogSource {
  readonly nodeId: string;
  /** Its first line, as far as it has come. */
  readonly first: LogLine | undefined;
  /** All lines. Ends early, without a line that has `end`, when the agent is lost. */
  readonly lines: AsyncIterable<LogLine>;
  /** To be called when the reader needs no more of it. */
  readonly done: () => void;
}

/** How a wait ended: with the stream, declined by an agent that serves too many, or too late. */
export type LogArrival = LogSource | 'declined' | 'late';

interface AwaitedStream {
  /** Whether the stream may come from this node. */
  readonly accepts: (node: NodeIdentity) => boolean;
  readonly onArrival: (arrival: LogSource | 'declined') => void;
}

/** The lines of a stream whose first is awaited already. */
async function* continueWith(
  begun: Promise<IteratorResult<LogLine, void>>,
  rest: AsyncIterable<LogLine>,
): AsyncGenerator<LogLine> {
  const { value, done } = await begun;
  if (done) return;
  yield value;
  yield* rest;
}

const TIME = /^\d{10}\.\d{1,9}$/;

/** Whether what an agent has sent is a line of a log: tenants run agents of their own. */
function isLogLine(document: unknown): document is LogLine {
  if (typeof document !== 'object' || document === null) return false;
  const { stream, text, at, position, begin, end, gap } = document as Readonly<Record<keyof LogLine, unknown>>;
  const isOptional = (each: unknown, form: RegExp) =>
    each === undefined || (typeof each === 'string' && form.test(each));
  const removedAt = begin === undefined ? undefined : (begin as { readonly removedAt?: unknown } | null)?.removedAt;
  return (
    (stream === 'stdout' || stream === 'stderr') &&
    typeof text === 'string' &&
    isOptional(at, TIME) &&
    isOptional(position, /^\S{1,200}$/) &&
    isOptional(end, /^[a-z_]{1,64}$/) &&
    (begin === undefined || (typeof begin === 'object' && begin !== null)) &&
    isOptional(removedAt, /^[0-9TZ:.+-]{1,40}$/) &&
    (gap === undefined || typeof gap === 'boolean')
  );
}

/** Brings a reader of logs together with the agent that sends them. */
export class LogRendezvous {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, AwaitedStream>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for the node to dial in with the stream of that id, and for its first line. */
  await(id: string, nodeId: string, ms: number): Promise<LogArrival> {
    return new Promise(resolve => {
      const settle = (arrival: LogArrival) => {
        cancel();
        this.#waiting.delete(id);
        resolve(arrival);
      };
      const cancel = this.#clock.after(ms, () => settle('late'));
      this.#waiting.set(id, { accepts: node => node.id === nodeId, onArrival: settle });
    });
  }

  /** The streams with which nodes of the tenant have dialled in by then. */
  collect(id: string, tenant: string, ms: number): Promise<readonly LogSource[]> {
    return new Promise(resolve => {
      const arrived: LogSource[] = [];
      const onArrival = (arrival: LogSource | 'declined') => {
        if (arrival !== 'declined') arrived.push(arrival);
      };
      this.#clock.after(ms, () => {
        this.#waiting.delete(id);
        resolve(arrived);
      });
      this.#waiting.set(id, { accepts: node => node.tenant === tenant, onArrival });
    });
  }

  /** Hands over a stream. Resolves when its reader is done with it; undefined when no reader waits for it from this node. */
  deliver(id: string, node: NodeIdentity, body: IncomingMessage): Promise<void> | undefined {
    if (!this.#waitingFor(id, node)) return undefined;
    return new Promise(resolve => {
      body.once('close', resolve);
      const lines = this.#readLines(body);
      const begun = lines.next();
      let hasArrived = false;
      const arrive = (first: LogLine | undefined) => {
        if (hasArrived) return;
        hasArrived = true;
        cancel();
        const waiting = this.#waitingFor(id, node);
        if (!waiting) return resolve();
        waiting.onArrival({ nodeId: node.id, first, lines: continueWith(begun, lines), done: resolve });
      };
      const cancel = this.#clock.after(FIRST_LINE_MS, () => arrive(undefined));
      void begun.then(({ value, done }) => arrive(done ? undefined : value));
    });
  }

  /** Notes that the node will not send the stream. False when no reader waits for it from this node. */
  decline(id: string, node: NodeIdentity): boolean {
    const waiting = this.#waitingFor(id, node);
    waiting?.onArrival('declined');
    return waiting !== undefined;
  }

  #waitingFor(id: string, node: NodeIdentity): AwaitedStream | undefined {
    const waiting = this.#waiting.get(id);
    return waiting?.accepts(node) ? waiting : undefined;
  }

  /** Agents that begin with `begin` also show that they are alive: a silent one is lost. Older ones may be silent. */
  async *#readLines(body: IncomingMessage): AsyncGenerator<LogLine, void> {
    let cancel: (() => void) | undefined;
    let isWatched = false;
    const documents = readDocuments(body, LINE_BYTES);
    try {
      for (;;) {
        if (isWatched) cancel = this.#clock.after(LOG_SILENCE_MS, () => body.destroy());
        const { value, done } = await documents.next();
        cancel?.();
        if (done) return;
        if (!isLogLine(value)) return void body.destroy();
        const line = value;
        isWatched ||= line.begin !== undefined;
        yield line;
      }
    } catch {
      // The connection broke, or what came is no line: the reader sees that `end` is missing.
    } finally {
      cancel?.();
    }
  }
}
