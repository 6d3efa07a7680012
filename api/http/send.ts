import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Reply, StreamReply, WholeReply } from './reply.js';

/** Headers of every answer: it is not cached, its type is not guessed, and it is not embedded in another page. */
const ALWAYS = [
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'no-referrer',
  'cross-origin-resource-policy',
  'same-origin',
];

const POLICY = 'content-security-policy';
const NOTHING_LOADS = "default-src 'none'; frame-ancestors 'none'";

/**
 * Sends an answer. `headOnly` leaves out what a HEAD request does not want. Gives the length of its body; undefined when
 * that is not known.
 */
export function sendReply(
  response: ServerResponse,
  reply: Reply,
  requestId: string,
  headOnly: boolean,
): number | undefined {
  if (response.headersSent) return abandon(reply); // the request body broke meanwhile, and that was answered
  const headers = [...ALWAYS, 'x-request-id', requestId, 'content-type', reply.type];
  if (isEndless(response.req) && reply.headers?.['connection'] === undefined) headers.push('connection', 'close');
  if (reply.headers?.[POLICY] === undefined) headers.push(POLICY, NOTHING_LOADS);
  for (const name in reply.headers) headers.push(name, reply.headers[name]!);
  if (!('body' in reply)) {
    response.writeHead(reply.status, headers);
    if (headOnly) {
      response.end();
      abandon(reply);
    } else openInTurn(response, reply);
    return undefined;
  }
  const bytes = measureBody(reply);
  headers.push('content-length', String(bytes));
  response.writeHead(reply.status, headers);
  if (headOnly) response.end();
  else if (Buffer.isBuffer(reply.body)) response.end(reply.body);
  else {
    for (const part of reply.body as readonly Buffer[]) response.write(part);
    response.end();
  }
  return bytes;
}

/** Whether the rest of a body is not worth waiting for, because no one knows how long it is. */
function isEndless(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined && !request.complete;
}

function abandon(reply: Reply): undefined {
  if (!('body' in reply)) reply.abandon?.();
}

/**
 * Opens a stream as soon as the answers before it on its connection are out. Only from then on does the response say
 * when the client has gone, so until then its connection is listened to.
 */
function openInTurn(response: ServerResponse, reply: StreamReply): void {
  const { socket: connection } = response.req;
  const leave = () => abandon(reply);
  const open = () => {
    connection.off('close', leave);
    response.flushHeaders();
    reply.open(response);
  };
  if (connection.destroyed) return leave();
  if (response.socket) return open();
  connection.once('close', leave);
  response.once('socket', open);
}

function measureBody({ body }: WholeReply): number {
  return Buffer.isBuffer(body) ? body.length : (body as readonly Buffer[]).reduce((sum, part) => sum + part.length, 0);
}
