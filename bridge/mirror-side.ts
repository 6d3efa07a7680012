import { request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import { buffer } from 'node:stream/consumers';

import type { KubeConfig } from '@kubernetes/client-node';

import type { Clock } from '../pkg/clock/index.js';
import { sleep } from '../pkg/clock/index.js';
import { asError, Fault } from '../pkg/fault/index.js';

/** The package is loaded when the bridge starts, and by nothing else. */
export type ClientPackage = typeof import('@kubernetes/client-node');

/** A side did not answer, or not in a way that says what it has. */
export class SideUnreadableFault extends Fault {
  readonly retriable = true;
}

/** The object has changed since it was read, or exists already: read and decide again. */
export class OvertakenFault extends Fault {
  readonly retriable = true;
}

/** What a request was refused with. */
export interface ApiRejection {
  readonly ok: false;
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

export type KubernetesAnswer<T> = { readonly ok: true; readonly value: T } | ApiRejection;

interface StatusBody {
  readonly kind?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly name?: string;
    readonly kind?: string;
    readonly causes?: readonly { readonly reason?: string }[];
  };
}

interface ListBody<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[];
}

const TIMEOUT_MS = 15_000;
/** Anything larger is no answer to what the bridge asks. */
const ANSWER_MAX = 64 * 2 ** 20;

/** An API that speaks Kubernetes' protocol: that of a cluster, or the face of Mooring. */
export class MirrorSide {
  readonly #config: KubeConfig;
  readonly #package: ClientPackage;

  readonly #timeoutMs: number;

  constructor(config: KubeConfig, client: ClientPackage, timeoutMs = TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs;
    this.#config = config;
    this.#package = client;
  }

  /** Refusals that say something about the object are answered; everything else that is not success throws. */
  async request<T>(method: string, path: string, body?: object): Promise<KubernetesAnswer<T>> {
    const { status, content } = await this.#send(method, path, body);
    if (status >= 200 && status < 300) {
      if (isObject(content)) return { ok: true, value: content as T };
      throw new SideUnreadableFault(`${method} ${path} was answered ${status} with something else than an object`);
    }
    const { kind, reason = '', message = '', details } = (content ?? {}) as StatusBody;
    if (kind !== 'Status' || ![400, 404, 409, 413, 422].includes(status)) {
      throw new SideUnreadableFault(`${method} ${path} was answered ${status}${message === '' ? '' : `: ${message}`}`);
    }
    if (status === 409) throw new OvertakenFault(`${method} ${path}: ${message}`);
    return { ok: false, status, reason: details?.causes?.[0]?.reason ?? reason, message };
  }

  /** One object. Undefined when the API says that there is none of that name; another 404 is no such statement, nor is a page. */
  async find<T>(path: string, name: string): Promise<T | undefined> {
    const { status, content } = await this.#send('GET', `${path}/${name}`);
    if (status === 200 && isNamed(content, name)) return content as T;
    const { reason, details, message = '' } = (content ?? {}) as StatusBody;
    const isAbsent = status === 404 && (reason === 'NotFound' || reason === undefined);
    if (isAbsent && details?.name === name && details.kind === path.split('/').at(-1)) return undefined;
    throw new SideUnreadableFault(`GET ${path}/${name} was answered ${status}: ${message}`);
  }

  /** Delivers every object of a list, and each change of it for a while; then resolves, to be called again. */
  async follow<T>(path: string, seconds: number, onObject: (object: T) => void, env: FollowEnv): Promise<void> {
    const [bare = '', search = ''] = path.split('?');
    const first = await this.#readPage<T>(path);
    for (let page = first; ; ) {
      for (const item of page.items ?? []) onObject(item);
      const next = page.metadata?.continue;
      if (!next || env.signal.aborted) break;
      const rest = new URLSearchParams([...new URLSearchParams(search), ['continue', next]]);
      page = await this.#readPage<T>(`${bare}?${rest.toString()}`);
    }
    const query = {
      ...Object.fromEntries(new URLSearchParams(search)),
      // A watch from the first page also shows what has changed while the others were read.
      resourceVersion: first.metadata?.resourceVersion ?? '',
      allowWatchBookmarks: true,
      timeoutSeconds: seconds,
    };
    const stop = new AbortController();
    const ended = new Promise<void>((resolve, reject) => {
      const onEvent = (type: string, object: T) => {
        if (type === 'ERROR') resolve();
        else if (type !== 'BOOKMARK') onObject(object);
      };
      const end = (error: unknown) => (error && !stop.signal.aborted ? reject(asError(error)) : resolve());
      const watching = new this.#package.Watch(this.#config).watch(bare, query, onEvent, end);
      // It fails without a word to `end` when the credentials of the kubeconfig cannot be had.
      watching.catch((thrown: unknown) => reject(asError(thrown)));
      const abort = () => {
        // A watch that was never answered cannot be ended; it is only not waited for.
        resolve();
        watching.then(
          each => each.abort(),
          () => undefined,
        );
      };
      stop.signal.addEventListener('abort', abort);
    });
    // A server that never ends its watch must not keep the list from being read again.
    const late = sleep(env.clock, (seconds + 5) * 1000, AbortSignal.any([env.signal, stop.signal]));
    try {
      await Promise.race([ended, late]);
    } finally {
      stop.abort();
    }
  }

  async #readPage<T>(path: string): Promise<ListBody<T>> {
    const list = await this.request<ListBody<T>>('GET', path);
    if (!list.ok) throw new SideUnreadableFault(`GET ${path} was refused: ${list.message}`);
    if (!Array.isArray(list.value.items)) throw new SideUnreadableFault(`GET ${path} was not answered with a list`);
    return list.value;
  }

  async #send(method: string, path: string, body?: object): Promise<{ status: number; content: unknown }> {
    const cluster = this.#config.getCurrentCluster();
    if (!cluster) throw new SideUnreadableFault('the kubeconfig has no current cluster');
    const url = new URL(cluster.server.replace(/\/$/, '') + path);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const type = text === undefined ? {} : { 'content-type': 'application/json' };
    const options: RequestOptions = { method, headers: { accept: 'application/json', ...type } };
    const signal = AbortSignal.timeout(this.#timeoutMs);
    try {
      // A program that is to give credentials may never end.
      await Promise.race([this.#config.applyToHTTPSOptions(options), rejectAfter(signal)]);
      return await new Promise((resolve, reject) => {
        const send = url.protocol === 'https:' ? requestHttps : requestHttp;
        const request = send(url, { ...options, signal }, response => {
          response.once('error', reject);
          let size = 0;
          response.on('data', (chunk: Buffer) => {
            if ((size += chunk.length) > ANSWER_MAX) response.destroy(new Error('the answer is too long'));
          });
          const status = response.statusCode ?? 0;
          buffer(response).then(bytes => resolve({ status, content: parse(bytes) }), reject);
        });
        request.once('error', reject);
        request.end(text);
      });
    } catch (cause) {
      throw new SideUnreadableFault(`${url.origin} did not answer ${method} ${path}: ${asError(cause).message}`);
    }
  }
}

export interface FollowEnv {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

function rejectAfter(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(asError(signal.reason)), { once: true });
  });
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return undefined;
  }
}

function isObject(content: unknown): content is object {
  return typeof content === 'object' && content !== null;
}

function isNamed(content: unknown, name: string): boolean {
  const { metadata } = (content ?? {}) as { readonly metadata?: { readonly name?: unknown; readonly uid?: unknown } };
  return metadata?.name === name && typeof metadata.uid === 'string';
}
