import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import { reject } from '../../crds/rejections/index.js';
import type { BodyLimits } from './body.js';
import { RequestRejection } from './reply.js';

/** Limits of the request head, which Node reads before the API sees the request. */
export type HeadLimits = Pick<BodyLimits, 'maxBytes' | 'maxSeconds'>;

const CLOSE = { connection: 'close' };

const LENGTH = 'Content-Length is missing, repeated or not a number';
const PROBLEMS: Readonly<Record<string, string>> = {
  HPE_INVALID_METHOD: 'the method is unknown',
  HPE_INVALID_CONTENT_LENGTH: LENGTH,
  HPE_INVALID_TRANSFER_ENCODING: LENGTH,
  HPE_UNEXPECTED_CONTENT_LENGTH: LENGTH,
};

/** The error of Node's parser. */
export interface HttpParseError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
}

/** Why bytes could not be parsed as a request. Undefined when the connection itself broke and cannot be answered. */
export function rejectUnparsable(
  { code = '', rawPacket }: HttpParseError,
  limits: HeadLimits,
): RequestRejection | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const received = `more than ${limits.maxBytes} bytes`;
    const params = { max: limits.maxBytes };
    return new RequestRejection(reject('request_headers_too_large', 'headers', received, params), CLOSE);
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new RequestRejection(reject('request_stalled', 'headers', '', { seconds: limits.maxSeconds }), CLOSE);
  }
  if (!code.startsWith('HPE_')) return undefined;
  return rejectMalformed('request', rawPacket?.toString('latin1'), PROBLEMS[code] ?? 'the bytes are not HTTP');
}

/** Rejects a request that is not valid HTTP. */
export function rejectMalformed(field: string, received: string | undefined, problem: string): RequestRejection {
  return new RequestRejection(
    reject('request_malformed', field, received, { form: 'one HTTP/1.1 request', problem }),
    CLOSE,
  );
}

/** How often a header was sent. `rawHeaders` are names and values in turn, as they came: Node shows the first only. */
export function countHeader(rawHeaders: readonly string[], header: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === header.length && name.toLowerCase() === header) count++;
  }
  return count;
}

/** Refuses an `Authorization` that was sent twice: a proxy may have judged the other one. */
export function checkAuthorizationOnce({ rawHeaders }: IncomingMessage): RequestRejection | undefined {
  if (countHeader(rawHeaders, 'authorization') < 2) return undefined;
  return rejectMalformed('Authorization', '', 'the Authorization header was sent twice');
}

/** Rejects an `Expect` header other than `100-continue`. */
export function rejectExpectation({ headers }: IncomingMessage): RequestRejection {
  return new RequestRejection(reject('expectation_unsupported', 'Expect', headers.expect), CLOSE);
}

/**
 * The answer to give on a connection whose bytes could not be read: the one that is due, where it was the body of its
 * request that broke, else one of its own. Undefined when another answer is due, or has begun.
 */
export function findResponse(connection: Duplex): ServerResponse | undefined {
  if (!connection.writable) return undefined;
  // Node exposes it nowhere else, and its own answer to such bytes reads the same field.
  const { _httpMessage: due } = connection as { _httpMessage?: ServerResponse | null };
  if (due) return due.headersSent || due.req.complete ? undefined : due;
  const answer = new ServerResponse(new IncomingMessage(connection as Socket));
  answer.assignSocket(connection as Socket);
  answer.once('finish', () => (connection as Socket).destroySoon());
  return answer;
}
