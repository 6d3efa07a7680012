import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';

import type { Clock } from '../clock/index.js';
import { UnreachableFault } from './answer.js';

/** The query string. Parameters that are undefined are omitted. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** One HTTP request, before it is sent. */
export interface HttpCall {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** How long to wait for the headers of the answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

export type Connections = http.Agent | https.Agent;

/** Less than the 5 s for which servers keep an idle connection: none that is about to be closed may carry a write. */
const IDLE_MS = 3_000;

/** Since when each connection of a pool is idle, by both clocks: the one stands still while the machine sleeps, the other may be set. */
const idleSince = new WeakMap<object, { readonly monotonic: number; readonly now: number }>();

/** Opens the connection pool of a client. */
export function openConnections(server: URL, ca: string | undefined, clock: Clock): Connections {
  const isSecure = server.protocol === 'https:';
  const pool = isSecure
    ? new https.Agent({ keepAlive: true, ...(ca !== undefined && { ca }) })
    : new http.Agent({ keepAlive: true });
  pool.on('free', (socket: Socket) => {
    idleSince.set(socket, { monotonic: clock.monotonic(), now: clock.now() });
    socket.setTimeout(IDLE_MS);
  });
  return pool;
}

/** Closes what has been idle for too long: a process that was busy or asleep is late with its timers, and the server is not. */
function closeIdle(pool: Connections, clock: Clock): void {
  for (const socket of Object.values(pool.freeSockets).flat()) {
    const since = socket && idleSince.get(socket);
    const isFresh =
      since && clock.monotonic() - since.monotonic < IDLE_MS && Math.abs(clock.now() - since.now) < IDLE_MS;
    if (!isFresh) socket?.destroy();
  }
}

/**
 * Sends one request and returns its headers; the caller reads the body.
 *
 * The server may close a pooled connection at the very moment it is used again. A GET is then sent once more; a write is
 * not, because the server may have received it.
 */
export async function sendCall(call: HttpCall, pool: Connections, clock: Clock): Promise<http.IncomingMessage> {
  const first = await attempt(call, pool, clock);
  const isStale = 'fault' in first && first.isReused && call.method === 'GET' && !call.signal?.aborted;
  const result = isStale ? await attempt(call, pool, clock) : first;
  if ('fault' in result) throw result.fault;
  return result;
}

interface FailedAttempt {
  readonly fault: UnreachableFault;
  /** Whether it used a pooled connection. */
  readonly isReused: boolean;
}

function attempt(call: HttpCall, pool: Connections, clock: Clock): Promise<http.IncomingMessage | FailedAttempt> {
  const { url, method, headers, body, signal, timeoutMs } = call;
  const open = url.protocol === 'https:' ? https.request : http.request;
  closeIdle(pool, clock);
  return new Promise(resolve => {
    const request = open(url, { method, headers, agent: pool, ...(signal && { signal }) });
    const message = `no answer within ${Math.round(timeoutMs / 1000)} s`;
    const cancel = clock.after(timeoutMs, () => request.destroy(new Error(message)));
    request.once('response', answer => {
      cancel();
      resolve(answer);
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      cancel();
      const because = REASONS[error.code ?? ''] ?? error.message;
      resolve({ fault: new UnreachableFault(url.origin, because, error), isReused: request.reusedSocket });
    });
    request.end(body);
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be resolved',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  ETIMEDOUT: 'the connection timed out',
  ABORT_ERR: 'the request was aborted',
};
