import type { Clock, Random } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { SpanContext } from './traceparent.js';

/** A request that is answered, or work inside a process. */
export type SpanKind = 'internal' | 'server';

/**
 * All that a span may say of what it covers. The list is closed: no attribute takes a message, a document or a header, so that
 * none can hold what a tenant has sent.
 */
export interface SpanAttributes {
  readonly 'http.request.method'?: string;
  /** The path as it is declared, not as it was sent. */
  readonly 'http.route'?: string;
  readonly 'http.response.status_code'?: number;
  /** A code of a rejection, or the name of a class of errors. */
  readonly 'error.type'?: string;
  readonly 'mooring.request'?: string;
  readonly 'mooring.tenant'?: string;
  /** A name, which is public within its tenant. */
  readonly 'mooring.deployment'?: string;
  readonly 'mooring.job'?: string;
  readonly 'mooring.replica'?: string;
  readonly 'mooring.node'?: string;
  readonly 'mooring.loop'?: string;
  /** How many changes a reconcile made or tried. */
  readonly 'mooring.changes'?: number;
  /** What the registry said of the image. */
  readonly 'mooring.image_check'?: string;
  /** The code of the first rejection. */
  readonly 'mooring.rejection'?: string;
}

/** A span that is over. */
export interface FinishedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parentId: string | undefined;
  /** Microseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: SpanAttributes;
  readonly isFailed: boolean;
}

/** Takes spans that are over. Never throws and never waits. */
export interface SpanSink {
  add(span: FinishedSpan): void;
  /** Sends what is left, within a few seconds. */
  close(): Promise<void>;
}

interface TracerEnv {
  readonly clock: Clock;
  readonly random: Random;
}

interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly traceId: string;
  readonly parentId: string | undefined;
}

/** One moment, on both clocks: spans of a process are laid out by the one that never goes back. */
interface Anchor {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** Something that takes time. It is recorded once it has ended. */
export class Span {
  readonly context: SpanContext;
  readonly #env: TracerEnv;
  readonly #sink: SpanSink;
  readonly #anchor: Anchor;
  readonly #start: SpanStart;
  readonly #startedAt: number;
  #attributes: SpanAttributes = {};
  #isEnded = false;

  constructor(env: TracerEnv, sink: SpanSink, start: SpanStart, anchor?: Anchor) {
    this.#env = env;
    this.#sink = sink;
    this.#start = start;
    this.#anchor = anchor ?? { wallMs: env.clock.now(), monotonicMs: env.clock.monotonic() };
    this.#startedAt = this.#now();
    this.context = { traceId: start.traceId, spanId: createId(env.random, 8), isSampled: true };
  }

  /** Begins a part of this span. */
  child(name: string): Span {
    const { traceId, spanId } = this.context;
    const start = { name, kind: 'internal', traceId, parentId: spanId } as const;
    return new Span(this.#env, this.#sink, start, this.#anchor);
  }

  /** Says more about what the span covers. */
  set(attributes: SpanAttributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  /** Ends and records the span; only the first time. `name` replaces the one that it began with. */
  end({
    name = this.#start.name,
    isFailed = false,
  }: {
    readonly name?: string;
    readonly isFailed?: boolean;
  } = {}): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { kind, parentId } = this.#start;
    const times = { startedAt: this.#startedAt, endedAt: this.#now() };
    this.#sink.add({ name, kind, parentId, context: this.context, ...times, attributes: this.#attributes, isFailed });
  }

  #now(): number {
    const { wallMs, monotonicMs } = this.#anchor;
    return Math.round((wallMs + this.#env.clock.monotonic() - monotonicMs) * 1000);
  }
}

/** Begins spans. */
export class Tracer {
  readonly #env: TracerEnv;
  readonly #sink: SpanSink;
  readonly #ratio: number;

  /** `ratio`: which part of the traces that begin here is recorded. */
  constructor(env: TracerEnv, sink: SpanSink, ratio: number) {
    this.#env = env;
    this.#sink = sink;
    this.#ratio = ratio;
  }

  /**
   * Begins a span below `parent`, or a new trace. Undefined when the trace is not recorded: whether it is was decided where it
   * began.
   */
  start(name: string, kind: SpanKind, parent?: SpanContext): Span | undefined {
    const { random } = this.#env;
    if (!(parent ? parent.isSampled : random.next() < this.#ratio)) return undefined;
    const traceId = parent?.traceId ?? createId(random, 16);
    return new Span(this.#env, this.#sink, { name, kind, traceId, parentId: parent?.spanId });
  }

  /** Sends what is left. */
  close(): Promise<void> {
    return this.#sink.close();
  }
}

/** Does work as a part of `parent`. Without one there is no span, and the work is simply done. */
export function inSpan<T>(
  parent: Span | undefined,
  name: string,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  return parent ? record(parent.child(name), work) : work(undefined);
}

async function record<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  let isFailed = true;
  try {
    const result = await work(span);
    isFailed = false;
    return result;
  } catch (thrown) {
    span.set({ 'error.type': asError(thrown).name });
    throw thrown;
  } finally {
    span.end({ isFailed });
  }
}

/** An id is not all zeros; that has never happened by chance. */
function createId(random: Random, bytes: number): string {
  const id = random.bytes(bytes).toString('hex');
  return /[^0]/.test(id) ? id : createId(random, bytes);
}
