import { Agent, errors, request } from 'undici';

import { asError } from '../../../fault/index.js';
import { EngineRefusedFault, EngineUnreachableFault, EngineUnsupportedFault } from '../engine.js';

const ANSWER_LIMIT_MS = 30_000;

type DockerResponse = Awaited<ReturnType<typeof request>>;

export interface DockerCall {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses above 299 that the caller handles. Every other one is thrown. */
  readonly expected?: readonly number[];
  readonly answerWithinMs?: number;
  /** The longest silence inside the response body. 0: no limit. */
  readonly silenceMs?: number;
  readonly signal?: AbortSignal;
}

/** The Docker Engine API: requests in the negotiated version, failures as faults. */
export class DockerApi {
  readonly #origin: string;
  readonly #dispatcher: Agent;
  #version: Promise<EngineVersion> | undefined;

  /** `host` is `unix:///path/to/socket`, `tcp://host:port` or an http address. */
  constructor(host: string) {
    const socketPath = host.startsWith('unix://') ? host.slice('unix://'.length) : undefined;
    this.#origin = socketPath === undefined ? host.replace(/^tcp:/, 'http:').replace(/\/+$/, '') : 'http://engine';
    this.#dispatcher = new Agent({ connect: { timeout: 5_000, ...(socketPath === undefined ? {} : { socketPath }) } });
  }

  /** Version of the engine and of its API. Requested once per connection. */
  version(): Promise<EngineVersion> {
    this.#version ??= this.#negotiate();
    return this.#version;
  }

  /** Resolves when the engine answers in time, whatever version of its API it has. */
  async ping(withinMs: number): Promise<void> {
    const answer = await this.#request('GET', '/_ping', { answerWithinMs: withinMs, silenceMs: withinMs });
    await answer.body.dump();
  }

  async call<T>(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    call: DockerCall = {},
  ): Promise<{ status: number; body: T }> {
    const answer = await this.#ask(method, path, call);
    try {
      const text = await answer.body.text();
      const json = text !== '' && String(answer.headers['content-type']).startsWith('application/json');
      return { status: answer.statusCode, body: (json ? JSON.parse(text) : undefined) as T };
    } catch (thrown) {
      throw this.#unreachable(thrown);
    }
  }

  /** Resolves with the first bytes of the response to its body, which must then be read. */
  async open(method: 'GET' | 'POST', path: string, call: DockerCall = {}): Promise<AsyncGenerator<Buffer>> {
    return this.#chunks(await this.#ask(method, path, call));
  }

  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  async *#chunks(answer: DockerResponse): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of answer.body) yield chunk as Buffer;
    } catch (thrown) {
      throw this.#unreachable(thrown);
    } finally {
      answer.body.on('error', () => undefined).destroy();
    }
  }

  async #negotiate(): Promise<EngineVersion> {
    try {
      const answer = await this.#request('GET', '/version', {});
      const theirs = (await answer.body.json()) as { Version: string; ApiVersion: string; MinAPIVersion?: string };
      const api = negotiateVersion(theirs.ApiVersion, theirs.MinAPIVersion ?? OLDEST_API);
      if (!api)
        throw new EngineUnsupportedFault(
          `the engine offers API ${theirs.ApiVersion}; supported are ${OLDEST_API} to ${NEWEST_API}: upgrade the engine or the agent`,
        );
      return { engine: theirs.Version, api };
    } catch (thrown) {
      throw this.#unreachable(thrown);
    }
  }

  async #ask(method: string, path: string, call: DockerCall): Promise<DockerResponse> {
    const { api } = await this.version();
    const query = call.query ? `?${new URLSearchParams(call.query).toString()}` : '';
    const answer = await this.#request(method, `/v${api}${path}${query}`, call);
    if (answer.statusCode < 300 || call.expected?.includes(answer.statusCode)) return answer;
    throw new EngineRefusedFault(answer.statusCode, await readMessage(answer));
  }

  async #request(method: string, path: string, call: DockerCall): Promise<DockerResponse> {
    try {
      return await request(`${this.#origin}${path}`, {
        method,
        dispatcher: this.#dispatcher,
        headersTimeout: call.answerWithinMs ?? ANSWER_LIMIT_MS,
        bodyTimeout: call.silenceMs ?? ANSWER_LIMIT_MS,
        headers: { ...call.headers, ...(call.body !== undefined && { 'content-type': 'application/json' }) },
        body: call.body === undefined ? null : JSON.stringify(call.body),
        ...(call.signal ? { signal: call.signal } : {}),
      });
    } catch (thrown) {
      throw this.#unreachable(thrown);
    }
  }

  /** After a lost connection another engine may respond, so the version is negotiated again. */
  #unreachable(thrown: unknown): Error {
    if (thrown instanceof EngineRefusedFault) return thrown;
    this.#version = undefined;
    if (thrown instanceof EngineUnreachableFault || thrown instanceof EngineUnsupportedFault) return thrown;
    const error = asError(thrown);
    const code = error instanceof errors.UndiciError ? error.code : ((error as { code?: string }).code ?? error.name);
    return new EngineUnreachableFault(`the container engine did not respond: ${code}`, { cause: error });
  }
}

async function readMessage(answer: DockerResponse): Promise<string> {
  const body = (await answer.body.json().catch(() => undefined)) as { message?: unknown } | undefined;
  const message = body?.message;
  return typeof message === 'string' ? message : `the container engine responded with status ${answer.statusCode}`;
}

/** The oldest supported version of the Engine API: Docker 20.10's. */
export const OLDEST_API = '1.41';

/** The newest version of the Engine API that this client supports. */
export const NEWEST_API = '1.51';

export interface EngineVersion {
  readonly engine: string;
  readonly api: string;
}

/** The newest version that both sides support, given the engine's range; undefined when there is none. */
export function negotiateVersion(newest: string, oldest: string): string | undefined {
  const spoken = minor(newest) < minor(NEWEST_API) ? newest : NEWEST_API;
  return minor(spoken) >= minor(oldest) && minor(spoken) >= minor(OLDEST_API) ? spoken : undefined;
}

/** Makes versions comparable as numbers: 1.9 is older than 1.41. */
function minor(version: string): number {
  const [major = 0, small = 0] = version.split('.').map(Number);
  return major * 10_000 + small;
}
