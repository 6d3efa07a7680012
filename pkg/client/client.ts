import type { IncomingMessage } from 'node:http';

import { findDotSegment } from '../../crds/grammar/index.js';
import { type Clock, type Random, systemClock, systemRandom } from '../clock/index.js';
import type { ApiAnswer, ObjectList, RejectionAnswer, StreamAnswer, WatchChange } from './answer.js';
import { BrokenAnswerFault, DotSegmentFault, parseRejectionAnswer, UnreachableFault } from './answer.js';
import { type Connections, openConnections, type QueryParameters, sendCall } from './transport.js';
import { watch, type WatchOptions } from './watch.js';

export interface ClientOptions {
  /** `http://127.0.0.1:7070` */
  readonly server: string;
  readonly token?: string | undefined;
  /** Sent as `X-Tenant-ID`: how an administrator chooses a tenant. */
  readonly tenant?: string | undefined;
  /** The certificate authority to trust, in PEM, when the server's is not a public one. */
  readonly ca?: string | undefined;
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  readonly random?: Random;
}

export interface RequestOptions {
  readonly query?: QueryParameters;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** How long the server may take to begin its answer. Default: that of the client. */
  readonly timeoutMs?: number;
}

type ListPage<T> = ObjectList<T> & { readonly next?: string | null };

/** A client of one API server, with one token. */
export class Client {
  readonly server: URL;
  readonly #options: ClientOptions;
  readonly #pool: Connections;
  readonly #clock: Clock;

  constructor(options: ClientOptions) {
    this.server = new URL(options.server);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#pool = openConnections(this.server, options.ca, this.#clock);
  }

  /** Sends one request and parses the JSON of its answer. */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<ApiAnswer<T>> {
    const answer = await this.#send(method, path, options);
    const status = answer.statusCode ?? 0;
    const text = await this.#readText(answer);
    if (status >= 200 && status < 300) return { ok: true, status, value: this.#parse(status, text) as T };
    return this.#refusal(answer, text);
  }

  /** Every item of a list, page after page. */
  async all<T>(path: string, options: RequestOptions = {}): Promise<ApiAnswer<ObjectList<T>>> {
    const items: T[] = [];
    let next: string | undefined;
    for (;;) {
      const query = { limit: 500, ...options.query, continue: next };
      const page = await this.request<ListPage<T>>('GET', path, { ...options, query });
      if (!page.ok) return page;
      items.push(...page.value.items);
      next = page.value.next ?? undefined;
      if (next === undefined) return { ...page, value: { items, revision: page.value.revision } };
    }
  }

  /** Watches a list until the reader stops. See `watch`. */
  watch<T>(path: string, options: WatchOptions & Pick<RequestOptions, 'query'> = {}): AsyncIterable<WatchChange<T>> {
    const open = (query: QueryParameters, signal: AbortSignal) =>
      this.stream(path, { query: { ...options.query, ...query }, signal });
    return watch<T>(open, options, { clock: this.#clock, random: this.#options.random ?? systemRandom });
  }

  /** Sends one request whose answer is a stream. A connection that breaks meanwhile throws `UnreachableFault`. */
  async stream(path: string, options: RequestOptions = {}): Promise<StreamAnswer> {
    const answer = await this.#send('GET', path, options);
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return { ok: true, body: this.#chunks(answer) };
    return this.#refusal(answer, await this.#readText(answer));
  }

  /** Closes the pooled connections. */
  close(): void {
    this.#pool.destroy();
  }

  async #send(method: string, path: string, { query = {}, body, headers = {}, signal, ...options }: RequestOptions) {
    const dots = findDotSegment(path);
    if (dots !== undefined) throw new DotSegmentFault(dots);
    const url = new URL(path, this.server);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const { token, tenant } = this.#options;
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? 15_000;
    const allHeaders = {
      accept: 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(tenant !== undefined && { 'x-tenant-id': tenant }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    };
    const text = body === undefined ? undefined : JSON.stringify(body);
    const call = { method, url, headers: allHeaders, body: text, signal, timeoutMs };
    return sendCall(call, this.#pool, this.#clock);
  }

  async #readText(answer: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.#chunks(answer)) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  }

  async *#chunks(answer: IncomingMessage): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of answer) yield chunk as Buffer;
    } catch (cause) {
      throw new UnreachableFault(this.server.origin, 'the connection closed within the answer', cause);
    }
  }

  #parse(status: number, text: string): unknown {
    if (text === '') return undefined;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new BrokenAnswerFault(this.server.origin, status, 'the body is not JSON');
    }
  }

  #refusal(answer: IncomingMessage, text: string): RejectionAnswer {
    const status = answer.statusCode ?? 0;
    const refusal = parseRejectionAnswer(status, this.#parse(status, text), answer.headers['retry-after']);
    if (refusal) return refusal;
    throw new BrokenAnswerFault(this.server.origin, status, 'the body is not a rejection');
  }
}
