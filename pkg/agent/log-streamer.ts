import { StringDecoder } from 'node:string_decoder';

import { asError } from '../fault/index.js';
import type { LogLine, LogRequest } from '../link/index.js';
import type { AgentEnv } from './agent-env.js';
import type { ContainerView } from './container-view.js';
import type { LogChunk } from './engine/index.js';

const STREAMS_MAX = 64;

type LogStreamerEnv = Pick<AgentEnv, 'engine' | 'link' | 'log'>;

/** Streams the output of containers to the API servers that requested it. The output itself is never logged. */
export class LogStreamer {
  readonly #env: LogStreamerEnv;
  readonly #view: ContainerView;
  readonly #signal: AbortSignal;
  readonly #running = new Set<string>();

  constructor(env: LogStreamerEnv, view: ContainerView, signal: AbortSignal) {
    this.#env = env;
    this.#view = view;
    this.#signal = signal;
  }

  /** Begins a log stream. A repeated request for a running stream is ignored. */
  stream(request: LogRequest): void {
    if (this.#running.has(request.id)) return;
    if (this.#running.size >= STREAMS_MAX) return void this.#decline(request);
    this.#running.add(request.id);
    void this.#send(request).finally(() => this.#running.delete(request.id));
  }

  async #send(request: LogRequest): Promise<void> {
    const { link, log } = this.#env;
    const end = new AbortController();
    try {
      await link.sendLogs(request, this.#lines(request, AbortSignal.any([this.#signal, end.signal])), this.#signal);
    } catch (thrown) {
      log.warn('could not send container logs', { replica: request.replica, error: asError(thrown) });
    } finally {
      end.abort(); // a silent container would keep the engine's stream open without a reader
    }
  }

  async #decline(request: LogRequest): Promise<void> {
    const { link, log } = this.#env;
    const { replica } = request;
    log.warn('log stream declined: the maximum number of log streams is open', { replica, count: STREAMS_MAX });
    try {
      await link.declineLogs(request);
    } catch (thrown) {
      log.warn('could not decline a log stream', { replica, error: asError(thrown) });
    }
  }

  async *#lines({ replica, follow, tail }: LogRequest, signal: AbortSignal): AsyncGenerator<LogLine> {
    const container = this.#view.get(replica);
    if (!container) return; // no container yet: the stream is empty
    yield* decodeText(this.#env.engine.logs(container.id, { follow, tail }, signal));
  }
}

/** Decodes UTF-8 that may be split between chunks. */
async function* decodeText(chunks: AsyncIterable<LogChunk>): AsyncGenerator<LogLine> {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  for await (const { stream, bytes } of chunks) {
    const text = decoders[stream].write(bytes);
    if (text !== '') yield { stream, text };
  }
}
