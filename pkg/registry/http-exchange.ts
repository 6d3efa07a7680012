import { type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isIP, isIPv6, type LookupFunction } from 'node:net';

import type { Host } from './image-location.js';
import { type ImageCheck, toUnreachable, type UnreachableReason } from './image-check.js';

/** The largest response body that is read. */
export const RESPONSE_MAX = 64 * 1024;
const HEAD_MAX = 16 * 1024;

export type Scheme = 'https' | 'http';

/** One request, to addresses that the policy allows. */
export interface HttpExchangeRequest {
  readonly scheme: Scheme;
  readonly host: Host;
  /** The only addresses to connect to. */
  readonly addresses: readonly string[];
  readonly method: 'HEAD' | 'GET';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** CA certificates, when the system's are not enough. */
  readonly ca?: readonly string[];
  readonly signal: AbortSignal;
}

export interface RegistryResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A response to continue from, or the final result of the check. */
export type RegistryResult = RegistryResponse | ImageCheck;

export function isFinal(result: RegistryResult): result is ImageCheck {
  return 'outcome' in result;
}

/**
 * Sends one request on its own connection, and follows no redirect.
 *
 * The name is used for the certificate check and the Host header; the connection goes to one of the given addresses, so a
 * DNS answer that changes meanwhile has no effect.
 */
export async function sendHttp(request: HttpExchangeRequest): Promise<RegistryResult> {
  try {
    const response = await sendHead(request);
    const body = request.method === 'HEAD' ? Buffer.alloc(0) : await readBody(response);
    response.destroy();
    if (!body) return toUnreachable('too_large');
    return { status: response.statusCode ?? 0, headers: response.headers, body };
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    return toUnreachable(request.signal.aborted ? 'late' : toReason(code));
  }
}

function sendHead({ scheme, host, addresses, ca, ...rest }: HttpExchangeRequest): Promise<IncomingMessage> {
  const options = {
    ...rest,
    host: host.name,
    port: host.port ?? (scheme === 'https' ? 443 : 80),
    agent: false,
    lookup: lookupOnly(addresses),
    maxHeaderSize: HEAD_MAX,
    headers: { ...rest.headers, host: host.text },
    ...(scheme === 'https' && {
      servername: isIP(host.name) === 0 ? host.name : '',
      minVersion: 'TLSv1.2' as const,
      ...(ca && { ca: [...ca] }),
    }),
  };
  return new Promise((resolve, reject) => {
    const request = (scheme === 'https' ? secureRequest : plainRequest)(options, resolve);
    request.on('error', reject);
    // A switch to another protocol causes neither a response nor an error, only a closed connection.
    request.on('close', () => reject(new Error('the connection was closed')));
    request.end();
  });
}

/** A look-up function that returns exactly these addresses. */
function lookupOnly(addresses: readonly string[]): LookupFunction {
  const all = addresses.map(address => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_name, options, answer) => {
    if (options.all) answer(null, all);
    else answer(null, all[0]?.address ?? '', all[0]?.family ?? 4);
  };
}

async function readBody(response: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > RESPONSE_MAX) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

const CERTIFICATE = /^(?:CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_|HOSTNAME_MISMATCH)/;

function toReason(code: string): UnreachableReason {
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return 'no_tls';
  if (CERTIFICATE.test(code)) return 'certificate';
  return code.startsWith('HPE_') ? 'unintelligible' : 'no_connection';
}
