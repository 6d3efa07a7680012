import { StringDecoder } from 'node:string_decoder';

import { asError } from '../fault/index.js';
import type { LogLine, LogRequest } from '../link/index.js';
import type { AgentEnv } from './agent-env.js';
import type { ContainerView } from './container-view.js';
import type { LogChunk } from './engine/index.js';

const MOST_STREAMS = 64;

/** Carries the output of containers to the servers that asked for it. What it carries is never logged. */
export class LogStreamer {
  readonly #env: Pick<AgentEnv, 'engine' | 'link' | 'log'>;
  readonly #view: ContainerView;
  readonly #signal: AbortSignal;
  readonly #running = new Set<string>();

  constructor(env: Pick<AgentEnv, 'engine' | 'link' | 'log'>, view: ContainerView, signal: AbortSignal) {
    this.#env = env;
    this.#view = view;
    this.#signal = signal;
  }

  /** Begins to answer a request. The same request heard again is the one that is being answered. */
  stream(request: LogRequest): void {
    if (this.#running.has(request.id)) return;
    if (this.#running.size >= MOST_STREAMS) return void this.#decline(request);
    this.#running.add(request.id);
    void this.#carry(request).finally(() => this.#running.delete(request.id));
  }

  async #carry(request: LogRequest): Promise<void> {
    const { link, log } = this.#env;
    const end = new AbortController();
    try {
      await link.sendLogs(request, this.#lines(request, AbortSignal.any([this.#signal, end.signal])), this.#signal);
    } catch (thrown) {
      log.warn('logs not sent', { replica: request.replica, error: asError(thrown) });
    } finally {
      end.abort(); // a silent container would keep the engine's stream open though nobody reads it
    }
  }

  async #decline(request: LogRequest): Promise<void> {
    const { link, log } = this.#env;
    log.warn('logs not sent: too many streams are open', { replica: request.replica, count: MOST_STREAMS });
    try {
      await link.declineLogs(request);
    } catch (thrown) {
      log.warn('logs not declined', { replica: request.replica, error: asError(thrown) });
    }
  }

  async *#lines({ replica, follow, tail }: LogRequest, signal: AbortSignal): AsyncGenerator<LogLine> {
    const container = this.#view.get(replica);
    if (!container) return; // an empty stream: there is no output yet
    yield* textOf(this.#env.engine.logs(container.id, { follow, tail }, signal));
  }
}

/** Text from bytes, with characters that were cut in two put together again. */
async function* textOf(chunks: AsyncIterable<LogChunk>): AsyncGenerator<LogLine> {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  for await (const { stream, bytes } of chunks) {
    const text = decoders[stream].write(bytes);
    if (text !== '') yield { stream, text };
  }
}
