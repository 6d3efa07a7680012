import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { Clock } from '../../pkg/clock/index.js';

/** How long the rest of a body may take whose request is answered already. */
const UNREAD_BODY_MS = 5_000;

/** How long a client may take to read an answer, and how much longer for each byte of it. */
const UNREAD_ANSWER_MS = 30_000;
const UNREAD_ANSWER_MS_PER_BYTE = 1 / 8;

/** Whether a request has a body that has not arrived in full. */
export function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/**
 * Cuts the connection of a client that has its answer but does not complete its request, or does not read the answer:
 * connections could be held for ever otherwise. `bytes` is the length of the answer; undefined for a stream, whose reader
 * may be slow.
 */
export function limitExchange(response: ServerResponse, bytes: number | undefined, clock: Clock): void {
  const { req: request } = response;
  if (hasUnreadBody(request)) {
    request.once(
      'close',
      clock.after(UNREAD_BODY_MS, () => request.complete || request.socket.destroy()),
    );
  }
  if (bytes === undefined || response.writableFinished) return;
  const cancel = clock.after(UNREAD_ANSWER_MS + bytes * UNREAD_ANSWER_MS_PER_BYTE, () => request.socket.destroy());
  onceClosed(response, cancel);
}

/** Calls `act` once, when the answer is sent in full or never will be. */
export function onceClosed(response: ServerResponse, act: () => void): void {
  if (response.destroyed) return act();
  response.once('close', act);
  if (response.socket) return;
  // It waits for the answers before it on its connection, and does not yet hear when the client goes.
  const connection = response.req.socket.setMaxListeners(0);
  const leave = () => {
    response.off('close', act);
    act();
  };
  if (connection.destroyed) return leave();
  connection.once('close', leave);
  response.once('socket', () => connection.off('close', leave));
}

/**
 * Does not read a connection for a while: a client that repeats a refused request before its Retry-After costs nothing
 * meanwhile. It begins when the refusal has been sent and its request has been read.
 */
export function holdBack(connection: Socket, ms: number, clock: Clock): void {
  setImmediate(() => {
    if (connection.destroyed) return;
    connection.pause();
    const cancel = clock.after(ms, () => {
      connection.off('close', cancel);
      connection.resume();
    });
    connection.once('close', cancel);
  });
}
