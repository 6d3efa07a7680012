import http from 'node:http';
import https from 'node:https';

import type { Clock } from '../clock/index.js';
import { UnreachableFault } from './answer.js';

/** What follows the `?`. What is undefined is left out. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** One HTTP request, before it is sent. */
export interface HttpCall {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** How long to wait for the head of the answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export type Connections = http.Agent | https.Agent;

/** Connections that are kept and used again. A client holds one pool. */
export function openConnections(server: URL, ca: string | undefined): Connections {
  if (server.protocol === 'https:') return new https.Agent({ keepAlive: true, ...(ca === undefined ? {} : { ca }) });
  return new http.Agent({ keepAlive: true });
}

/**
 * Sends one request and answers with its head; the body is still to be read.
 *
 * A kept connection may have been closed by the server in the very moment it was used again. A request that only
 * reads is then sent once more; one that writes is not, because it may have been heard.
 */
export async function sendCall(call: HttpCall, pool: Connections, clock: Clock): Promise<http.IncomingMessage> {
  const first = await attempt(call, pool, clock);
  if (first.kind === 'answer') return first.answer;
  const stale = first.reused && call.method === 'GET' && !call.signal?.aborted;
  const second = stale ? await attempt(call, pool, clock) : first;
  if (second.kind === 'answer') return second.answer;
  throw second.fault;
}

type Attempt =
  | { readonly kind: 'answer'; readonly answer: http.IncomingMessage }
  | { readonly kind: 'failed'; readonly fault: UnreachableFault; readonly reused: boolean };

function attempt(call: HttpCall, pool: Connections, clock: Clock): Promise<Attempt> {
  const { url, method, headers, body, signal } = call;
  const open = url.protocol === 'https:' ? https.request : http.request;
  return new Promise(resolve => {
    const request = open(url, { method, headers, agent: pool, ...(signal ? { signal } : {}) });
    const cancel = clock.after(call.timeoutMs, () => request.destroy(new HeadLateError(call.timeoutMs)));
    request.once('response', answer => {
      cancel();
      resolve({ kind: 'answer', answer });
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      cancel();
      const fault = new UnreachableFault(url.origin, { because: reasonOf(error), cause: error });
      resolve({ kind: 'failed', fault, reused: request.reusedSocket });
    });
    request.end(body);
  });
}

class HeadLateError extends Error {
  constructor(ms: number) {
    super(`no answer within ${Math.round(ms / 1000)} s`);
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'the connection timed out',
  ABORT_ERR: 'the request was given up',
};

function reasonOf(error: NodeJS.ErrnoException): string {
  return reasons[error.code ?? ''] ?? error.message;
}
