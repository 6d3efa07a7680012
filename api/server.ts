import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

import { type Clock, systemClock } from '../pkg/clock/index.js';
import { InvalidSettingFault, type Settings } from '../pkg/config/index.js';
import { type Logger, silentLogger } from '../pkg/log/index.js';
import type { Api } from './api.js';
import { isLoopback, parseListen } from './http/hosts.js';
import type { RequestRejection } from './http/reply.js';
import { acceptTls, followTls, readTls } from './http/tls.js';
import { findResponse, rejectExpectation, rejectMalformed, rejectUnparsable } from './http/malformed.js';

/** A server that listens. */
export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** Accepts no new request, ends the streams, waits for requests under way, and finally cuts the remaining connections. */
  close(): Promise<void>;
}

const HEAD_LIMITS = { maxBytes: 16_384, maxSeconds: 10 };

/**
 * Bodies have their own deadline, since the stream of an agent's logs may take for ever; so Node's for the whole
 * request is off.
 */
const OPTIONS = {
  headersTimeout: HEAD_LIMITS.maxSeconds * 1000,
  requestTimeout: 0,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: HEAD_LIMITS.maxBytes,
  requireHostHeader: false, // the API answers this itself
  keepAlive: true,
  noDelay: true,
};
const CLOSE_MS = 5_000;

/** What a server is started with, besides the settings. */
export interface ServerEnv {
  readonly clock: Clock;
  readonly log: Logger;
  /** The descriptor of a socket that listens already. */
  readonly inherited?: number | undefined;
}

/** The first descriptor that systemd, or the supervisor of `moor up`, hands over. */
const FIRST_HANDED_OVER = 3;

/**
 * The descriptor of a listening socket that was handed to this process, as `sd_listen_fds(3)` describes it. The port stays
 * taken while the process is restarted, and connections wait for the next one. `LISTEN_PID` may be missing: a supervisor
 * that is no systemd cannot know it before the process runs.
 */
export function findInheritedSocket({
  LISTEN_FDS: count,
  LISTEN_PID: pid = String(process.pid),
}: Readonly<Record<string, string | undefined>>): number | undefined {
  if (count === undefined || count === '0' || pid !== String(process.pid)) return undefined;
  if (count === '1') return FIRST_HANDED_OVER;
  throw new InvalidSettingFault(`LISTEN_FDS: must be 1, since the server listens on one socket; got ${count}`);
}

/** What is wrong with settings that a server starts with all the same; undefined: nothing. */
export function explainUnreachable({ listen, advertise }: Pick<Settings, 'listen' | 'advertise'>): string | undefined {
  const { host } = parseListen(listen);
  if (advertise !== '' || !['0.0.0.0', '::', '[::]'].includes(host)) return undefined;
  return `setting "listen": ${host} is every address, and none that an agent can send logs to; set "advertise" to the URL of this server`;
}

/** Listens as the settings say, or on an inherited socket. Throws when other machines could reach it without TLS. */
export async function startServer(
  api: Api,
  settings: Settings,
  { inherited, ...env }: ServerEnv = { clock: systemClock, log: silentLogger },
): Promise<RunningServer> {
  const { host, port: asked } = parseListen(settings.listen);
  const tls = readTls(settings);
  if (!tls && !isLoopback(host)) {
    throw new InvalidSettingFault(
      `setting "listen": ${host} can be reached from other machines; set tlsCertFile and tlsKeyFile`,
    );
  }
  const { plainHttp } = settings;
  if (plainHttp && !isLoopback(host)) {
    throw new InvalidSettingFault(`setting "plainHttp": ${host} can be reached from other machines; use TLS only`);
  }
  const handshakeTimeout = HEAD_LIMITS.maxSeconds * 1000;
  const secure = tls && !plainHttp ? createSecureServer({ ...OPTIONS, ...tls, handshakeTimeout }) : undefined;
  const server: Server = secure ?? createServer(OPTIONS);
  const context = secure ?? (tls && acceptTls(server, tls, handshakeTimeout));
  const unfollow = context && followTls(context, settings, env);
  server.prependListener('connection', socket => api.connections.admit(socket));
  server.on('request', (request, response) => api.handle(request, response));
  rejectMalformedRequests(server, api);
  if (inherited === undefined) server.listen(asked, host);
  else server.listen({ fd: inherited });
  await once(server, 'listening');

  const { address, port } = server.address() as AddressInfo;
  const isElsewhere = (asked !== 0 && port !== asked) || isLoopback(address) !== isLoopback(host);
  if (inherited !== undefined && isElsewhere) {
    unfollow?.();
    server.close();
    throw new InvalidSettingFault(`setting "listen": ${settings.listen} is not where the inherited socket listens`);
  }
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const url = `${secure ? 'https' : 'http'}://${authority}`;
  api.setUrl(url, tls ? `https://${authority}` : url);
  const end = () => {
    unfollow?.();
    return close(server, api);
  };
  return { url, port, close: end };
}

/** Answers malformed requests with an id and a code, in place of Node's bare answer. */
function rejectMalformedRequests(server: Server, api: Api): void {
  const refuse = (connection: Duplex, refused: RequestRejection | undefined) => {
    const answer = refused && findResponse(connection);
    if (answer) api.reject(answer, refused);
    else connection.destroy();
  };
  server.on('clientError', (error, connection) => refuse(connection, rejectUnparsable(error, HEAD_LIMITS)));
  server.on('connect', (_request, connection) =>
    refuse(connection, rejectMalformed('method', 'CONNECT', 'CONNECT is not supported')),
  );
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    api.reject(response, rejectExpectation(request)),
  );
}

async function close(server: Server, api: Api): Promise<void> {
  const closed = new Promise<void>(resolve => {
    server.close(() => resolve());
  });
  api.close();
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
  await closed;
  clearTimeout(cut);
}
