import { setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls, type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';

import type { KubeConfig } from '@kubernetes/client-node';

import { asError } from '../../../fault/index.js';
import { EngineRefusedFault, EngineUnreachableFault, EngineUnsupportedFault } from '../engine.js';

const ANSWER_LIMIT_MS = 30_000;
const UNREADABLE = 'the answer is not one of the Kubernetes API: check what stands between it and the agent';

export interface KubernetesPlace {
  /** A kubeconfig. Default: the service account of the Pod that the agent runs in. */
  readonly kubeconfig?: string | undefined;
  /** Default: that of the context, or of the service account. */
  readonly namespace?: string | undefined;
}

export interface ClusterCall {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Of the body. Default: JSON. */
  readonly type?: string;
  /** Further status codes that are an answer. */
  readonly expected?: readonly number[];
  /** How long the answer, and then each part of it, may take. */
  readonly silenceMs?: number;
  readonly signal?: AbortSignal;
}

interface ClusterObject {
  readonly metadata: { readonly name: string; readonly uid: string };
}

/** With which the API says what is wrong. */
interface ClusterStatus {
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: { readonly name?: unknown } | null;
}

/** Requests to the API server of a cluster. Credentials, their renewal and TLS are those of the kubeconfig. */
export class KubernetesApi {
  readonly #place: KubernetesPlace;
  readonly #end = new AbortController();
  #config: Promise<KubeConfig> | undefined;

  constructor(place: KubernetesPlace) {
    this.#place = place;
    setMaxListeners(0, this.#end.signal); // one for each request under way
  }

  /** Path of a collection in the namespace: `pods`, or `pods/web`. */
  async path(rest: string, root = '/api/v1'): Promise<string> {
    return `${root}/namespaces/${encodeURIComponent(await this.namespace())}/${rest}`;
  }

  async namespace(): Promise<string> {
    const config = await this.#load();
    return this.#place.namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
  }

  async call<T>(method: string, path: string, call: ClusterCall = {}): Promise<{ status: number; body: T }> {
    const answer = await this.#ask(method, path, call);
    const read = await text(answer).catch((thrown: unknown) => Promise.reject(toUnreachable(thrown)));
    const isJson = String(answer.headers['content-type']).startsWith('application/json');
    try {
      return { status: answer.statusCode ?? 0, body: (isJson ? JSON.parse(read) : undefined) as T };
    } catch (thrown) {
      throw toUnreachable(thrown);
    }
  }

  async list<T extends ClusterObject>(plural: string, labelSelector: string): Promise<readonly T[]> {
    const path = await this.path(plural);
    const { body } = await this.call<{ readonly items?: unknown } | undefined>('GET', path, {
      query: { labelSelector },
    });
    if (Array.isArray(body?.items)) return body.items as readonly T[];
    throw new EngineUnreachableFault(UNREADABLE);
  }

  /** Undefined only when the cluster itself says that it has no object of the name. */
  async find<T extends ClusterObject>(plural: string, name: string): Promise<T | undefined> {
    const path = await this.path(`${plural}/${encodeURIComponent(name)}`);
    const { status, body } = await this.call<T | ClusterStatus | null | undefined>('GET', path, { expected: [404] });
    if (status !== 404) return demandObject<T>(body);
    const { reason, details } = (body ?? {}) as ClusterStatus;
    if (reason === 'NotFound' && details?.name === name) return undefined;
    throw new EngineUnreachableFault(UNREADABLE);
  }

  /** Undefined when the name is taken. Any other conflict, such as one of a quota, is a refusal. */
  async create<T extends ClusterObject>(plural: string, object: object): Promise<T | undefined> {
    const call = { body: object, expected: [409] };
    const answer = await this.call<T | ClusterStatus | null | undefined>('POST', await this.path(plural), call);
    if (answer.status !== 409) return demandObject<T>(answer.body);
    const refusal = (answer.body ?? {}) as ClusterStatus;
    if (refusal.reason === 'AlreadyExists') return undefined;
    throw new EngineRefusedFault(409, formatRefusal(refusal, 409));
  }

  /** Resolves when the answer begins; its body must then be read. Undefined for one of the `expected` codes. */
  async open(path: string, call: ClusterCall): Promise<AsyncGenerator<Buffer> | undefined> {
    const answer = await this.#ask('GET', path, call);
    if (answer.statusCode === 200) return readChunks(answer);
    drop(answer);
    return undefined;
  }

  close(): void {
    this.#end.abort();
  }

  async #ask(method: string, path: string, call: ClusterCall): Promise<IncomingMessage> {
    const answer = await this.#request(method, path, call).catch((thrown: unknown) => {
      throw toUnreachable(thrown);
    });
    const { statusCode: status = 0 } = answer;
    if (status < 300 || call.expected?.includes(status)) return answer;
    const message = readMessage(await text(answer).catch(() => ''), status);
    if (status === 401) throw new EngineUnreachableFault('the Kubernetes API refuses the credential of the agent');
    if (status === 429 || status >= 500) throw new EngineUnreachableFault(`the Kubernetes API failed: ${message}`);
    throw new EngineRefusedFault(status, message);
  }

  async #request(method: string, path: string, call: ClusterCall): Promise<IncomingMessage> {
    const config = await this.#load();
    const { server } = config.getCurrentCluster()!;
    const query = call.query ? `?${new URLSearchParams(call.query).toString()}` : '';
    const url = new URL(`${server.replace(/\/+$/, '')}${path}${query}`);
    const options: RequestOptions = { headers: { accept: 'application/json, */*' } };
    await config.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0]);
    const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
    const headers = {
      ...(options.headers as Record<string, string>),
      ...(body && { 'content-type': call.type ?? 'application/json', 'content-length': body.length }),
    };
    const signal = call.signal ? AbortSignal.any([call.signal, this.#end.signal]) : this.#end.signal;
    return new Promise((resolve, reject) => {
      const send = url.protocol === 'https:' ? requestTls : requestPlain;
      const sent = send(url, { ...options, method, headers, signal, timeout: call.silenceMs ?? ANSWER_LIMIT_MS });
      sent.on('timeout', () => sent.destroy(new Error('ETIMEDOUT')));
      sent.on('error', reject);
      sent.on('response', resolve);
      sent.end(body);
    });
  }

  #load(): Promise<KubeConfig> {
    this.#config ??= this.#read().catch((thrown: unknown) => {
      this.#config = undefined;
      throw thrown;
    });
    return this.#config;
  }

  async #read(): Promise<KubeConfig> {
    const { KubeConfig: Config } = await import('@kubernetes/client-node'); // large: for this engine only
    const config = new Config();
    const { kubeconfig } = this.#place;
    try {
      if (kubeconfig === undefined) config.loadFromCluster();
      else {
        await readFile(kubeconfig);
        config.loadFromFile(kubeconfig);
      }
    } catch (thrown) {
      throw new EngineUnsupportedFault(`the kubeconfig cannot be used: ${asError(thrown).message}`, { cause: thrown });
    }
    if (config.getCurrentCluster()) return config;
    throw new EngineUnsupportedFault('the kubeconfig names no cluster: set its current-context');
  }
}

async function* readChunks(answer: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of answer) yield chunk as Buffer;
  } catch (thrown) {
    throw toUnreachable(thrown);
  } finally {
    drop(answer);
  }
}

function drop(answer: IncomingMessage): void {
  answer.on('error', () => undefined).destroy();
}

/** What was read, when it is an object of the cluster: something in between may answer too. */
function demandObject<T extends ClusterObject>(body: T | ClusterStatus | null | undefined): T {
  const { metadata } = (body ?? {}) as Partial<T>;
  if (typeof metadata?.uid === 'string' && typeof metadata.name === 'string') return body as T;
  throw new EngineUnreachableFault(UNREADABLE);
}

function readMessage(body: string, status: number): string {
  try {
    return formatRefusal(JSON.parse(body) as ClusterStatus | null, status);
  } catch {
    return formatRefusal(undefined, status); // not a Status of Kubernetes
  }
}

function formatRefusal(body: ClusterStatus | null | undefined, status: number): string {
  const { message } = body ?? {};
  return typeof message === 'string' && message !== '' ? message : `the Kubernetes API responded with status ${status}`;
}

function toUnreachable(thrown: unknown): Error {
  if (thrown instanceof EngineUnreachableFault || thrown instanceof EngineUnsupportedFault) return thrown;
  const error = asError(thrown);
  const code = (error as { code?: string }).code ?? error.message;
  return new EngineUnreachableFault(`the Kubernetes API did not respond: ${code}`, { cause: error });
}
