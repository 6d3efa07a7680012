import { Agent, request } from 'undici';

import { backoffMs, type Cancel, type Clock, type Random } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { LogFields, Logger } from '../log/index.js';
import { encodeSpans, type TraceResource } from './otlp.js';
import type { FinishedSpan, SpanSink } from './tracer.js';

/** What became of spans: taken by the collector, refused by it, or never sent. */
export type SpanFate = 'sent' | 'refused' | 'dropped';

export interface ExporterEnv {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Called for each span whose fate is known. */
  readonly count: (fate: SpanFate) => void;
}

export interface ExporterOptions {
  /** Where spans are sent, with the path. */
  readonly url: string;
  readonly resource: TraceResource;
  /** Spans that wait; more are dropped. */
  readonly queueMax?: number;
  /** How long spans wait for others to be sent with. */
  readonly gatherMs?: number;
  /** How long the collector may take to answer. */
  readonly timeoutMs?: number;
  /** How long `close` may take. */
  readonly closeMs?: number;
}

const BATCH_MAX = 512;
const BACKOFF = { firstMs: 1_000, capMs: 30_000 };
/** The answers after which OTLP asks for another try. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Sends spans to a collector: OTLP over HTTP, as JSON.
 *
 * One request at a time, in the background. A collector that is slow, hangs or is gone costs a queue of bounded length, and the
 * spans beyond it; what waits for it is sent when it is back.
 */
export class SpanExporter implements SpanSink {
  readonly #env: ExporterEnv;
  readonly #options: Required<ExporterOptions>;
  readonly #connections = new Agent({ connections: 1 });
  #waiting: FinishedSpan[] = [];
  #cancel: Cancel | undefined;
  #sending: Promise<void> | undefined;
  /** Of the request under way: a signal that outlives requests would keep something of each. */
  #request: AbortController | undefined;
  #isClosing = false;
  #isOver = false;
  #failures = 0;
  #isLogged = false;

  constructor(env: ExporterEnv, options: ExporterOptions) {
    this.#env = env;
    this.#options = { queueMax: 2048, gatherMs: 1_000, timeoutMs: 10_000, closeMs: 3_000, ...options };
  }

  add(span: FinishedSpan): void {
    const { queueMax, gatherMs } = this.#options;
    if (this.#waiting.length >= queueMax || this.#isOver) return this.#env.count('dropped');
    this.#waiting.push(span);
    this.#schedule(gatherMs);
  }

  async close(): Promise<void> {
    const cancel = this.#env.clock.after(this.#options.closeMs, () => this.#end());
    this.#isClosing = true;
    this.#cancel?.();
    await this.#sending;
    while (this.#waiting.length > 0 && this.#failures === 0 && !this.#isOver) await this.#sendBatch();
    cancel();
    this.#end();
    for (const _ of this.#waiting.splice(0)) this.#env.count('dropped');
    await this.#connections.destroy();
  }

  /** Takes no further span, and gives up on the request under way. */
  #end(): void {
    this.#isOver = true;
    this.#request?.abort();
  }

  #schedule(afterMs: number): void {
    if (this.#isClosing || this.#sending || this.#cancel) return;
    this.#cancel = this.#env.clock.after(afterMs, () => {
      this.#cancel = undefined;
      this.#sending = this.#sendBatch().then(() => {
        this.#sending = undefined;
        if (this.#waiting.length > 0) this.#schedule(this.#waitMs());
      });
    });
  }

  /** A full batch goes at once; fewer spans wait for others, also those that came while a batch was sent. */
  #waitMs(): number {
    if (this.#failures > 0) return backoffMs(this.#failures, BACKOFF, this.#env.random);
    return this.#waiting.length >= BATCH_MAX ? 0 : this.#options.gatherMs;
  }

  /** Sends the spans that wait longest. They stay in the queue until the collector has decided. */
  async #sendBatch(): Promise<void> {
    const batch = this.#waiting.slice(0, BATCH_MAX);
    let status: number;
    try {
      status = await this.#send(encodeSpans(this.#options.resource, batch));
    } catch (thrown) {
      this.#failures++;
      return this.#warn('spans cannot be sent: is there a collector at traceEndpoint?', { error: asError(thrown) });
    }
    if (AGAIN.has(status)) {
      this.#failures++;
      return this.#warn('spans wait: the collector asks to be left alone for now', { status });
    }
    const isSent = status >= 200 && status < 300;
    if (!isSent) this.#warn('the collector refuses spans: is traceEndpoint one that takes OTLP over HTTP?', { status });
    else if (this.#isLogged) this.#env.log.info('spans are sent again');
    if (isSent) this.#isLogged = false;
    this.#failures = 0;
    this.#waiting = this.#waiting.slice(batch.length);
    for (const _ of batch) this.#env.count(isSent ? 'sent' : 'refused');
  }

  async #send(body: string): Promise<number> {
    const { url, timeoutMs } = this.#options;
    const sent = new AbortController();
    this.#request = sent;
    const cancel = this.#env.clock.after(timeoutMs, () => sent.abort());
    try {
      const { statusCode, body: answer } = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        dispatcher: this.#connections,
        signal: sent.signal,
      });
      await answer.dump();
      return statusCode;
    } finally {
      cancel();
      this.#request = undefined;
    }
  }

  /** One line for each outage, however long it lasts. */
  #warn(message: string, fields: LogFields): void {
    if (!this.#isLogged) this.#env.log.warn(message, fields);
    this.#isLogged = true;
  }
}
