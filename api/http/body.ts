import type { IncomingMessage } from 'node:http';

import { reject } from '../../crds/rejections/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import { parseJson } from '../../pkg/json/index.js';
import { digestBody } from '../../pkg/link/index.js';
import { rejectRequest, RequestRejection } from './reply.js';
import type { BodyRule } from './route.js';

export interface BodyLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
  readonly maxSeconds: number;
  /** SHA-256 in base64 that the body must have, when the caller has signed it. */
  readonly digest?: string | undefined;
}

/** No name that is accepted anywhere is longer; errors escape keys, which costs more than their length. */
const MAX_KEY_LENGTH = 4096;
const MAX_TOKENS = 20_000;
const CLOSE = { connection: 'close' };

/** Refuses a body that says of itself that it is too long. */
export function checkContentLength(request: IncomingMessage, limits: BodyLimits): RequestRejection | undefined {
  const length = request.headers['content-length'];
  return Number(length ?? 0) > limits.maxBytes ? tooLarge(length, limits) : undefined;
}

/** Refuses a body where none is read: what it asks for would be ignored. */
function checkNoBody({ method, headers }: IncomingMessage): RequestRejection | undefined {
  if (method !== 'DELETE') return undefined;
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return undefined;
  const params = { form: 'a DELETE without a body', problem: 'the body would be ignored' };
  return new RequestRejection(reject('request_malformed', 'body', '', params), CLOSE);
}

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/** Refuses a body that is not plain JSON in UTF-8. */
function checkContentType({ headers }: IncomingMessage): RequestRejection | undefined {
  const content = headers['content-type'] ?? '';
  const [type = ''] = content.split(';', 1);
  const charset = CHARSET.exec(content)?.[1]?.toLowerCase() ?? 'utf-8';
  const isJson = type.trim().toLowerCase() === 'application/json' && (charset === 'utf-8' || charset === 'utf8');
  if (headers['content-encoding'] === undefined && isJson) return undefined;
  return new RequestRejection(reject('media_type_unsupported', 'Content-Type', headers['content-type'] ?? ''), CLOSE);
}

/** What was sent, in an object, since `undefined` is no document and `null` is one. */
export type ReadBody = { readonly document: unknown } | RequestRejection;

const NO_DOCUMENT = { document: undefined };

/** Reads the body that a route takes and parses it. */
export async function readBody(
  request: IncomingMessage,
  rule: BodyRule,
  limits: BodyLimits,
  clock: Clock,
): Promise<ReadBody> {
  if (rule !== 'json') return checkNoBody(request) ?? NO_DOCUMENT;
  const unsupported = checkContentType(request);
  if (unsupported) return unsupported;
  const bytes = await readBytes(request, limits, clock);
  if (bytes instanceof RequestRejection) return bytes;
  if (limits.digest !== undefined && digestBody(bytes) !== limits.digest) {
    return rejectRequest('node_proof_invalid', 'body', '');
  }
  return readDocumentBytes(bytes, limits);
}

/** Parses a body that is JSON. */
export function readDocumentBytes(bytes: Buffer, limits: BodyLimits): ReadBody {
  const parsed = parseJson(bytes, { maxDepth: limits.maxDepth, maxTokens: MAX_TOKENS, maxKeyLength: MAX_KEY_LENGTH });
  if (parsed.ok) return { document: parsed.value };
  const { path, offset, message } = parsed.problem;
  const problem = `${message}, ${offset} characters in`;
  return rejectRequest('request_malformed', path === '' ? 'body' : path, bytes.toString('latin1'), { problem });
}

/** Reads a body whole, within its limits. */
export function readBytes(
  request: IncomingMessage,
  limits: BodyLimits,
  clock: Clock,
): Promise<Buffer | RequestRejection> {
  return new Promise((resolve, reject_) => {
    let held: Buffer | undefined;
    let more: Buffer[] | undefined;
    let length = 0;
    const stalled = () =>
      settle(new RequestRejection(reject('request_stalled', 'body', '', { seconds: limits.maxSeconds }), CLOSE));
    const cancel = clock.after(limits.maxSeconds * 1000, stalled);
    const settle = (result: Buffer | RequestRejection) => {
      cancel();
      if (result instanceof RequestRejection) request.removeAllListeners('data').resume();
      resolve(result);
    };
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > limits.maxBytes) settle(tooLarge(String(length), limits));
      else if (!held) held = chunk;
      else (more ??= [held]).push(chunk);
    });
    request.once('end', () => settle(more ? Buffer.concat(more, length) : (held ?? Buffer.alloc(0))));
    request.once('close', cancel);
    request.once('error', reject_);
  });
}

function tooLarge(received: string | undefined, { maxBytes }: BodyLimits): RequestRejection {
  return new RequestRejection(reject('request_too_large', 'body', `${received} bytes`, { max: maxBytes }), CLOSE);
}

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** Whether a part of a document is an object, not a list or a plain value. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
