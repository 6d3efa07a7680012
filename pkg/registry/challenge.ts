import { isFinal, type RegistryResponse } from './http-exchange.js';
import type { ImageLocation } from './image-location.js';
import { type ImageCheck, toUnreachable } from './image-check.js';
import { findRealm, type RegistryPolicy } from './policy.js';
import type { RegistryTransport } from './transport.js';

/** One challenge of a `WWW-Authenticate` header, RFC 9110 section 11. */
export interface Challenge {
  /** Lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly params: ReadonlyMap<string, string>;
}

const HEADER_MAX = 4096;
const SCHEME = /[\s,]*([a-z][a-z0-9._~+-]*)(?=[\s,]|$)/iy;
const PARAM = /[\s,]*([a-z0-9_-]+)[ \t]?=[ \t]?(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))(?=[\s,]|$)/iy;

/** Parses the challenges of a header, up to the first invalid one. */
export function parseChallenges(header: string | undefined): readonly Challenge[] {
  if (header === undefined || header.length > HEADER_MAX) return [];
  const challenges: Challenge[] = [];
  let at = 0;
  const next = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(header) ?? undefined;
    if (match) at = pattern.lastIndex;
    return match;
  };
  for (let scheme = next(SCHEME); scheme; scheme = next(SCHEME)) {
    const params = new Map<string, string>();
    for (let param = next(PARAM); param; param = next(PARAM)) {
      const [, name = '', quoted, bare] = param;
      params.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '');
    }
    challenges.push({ scheme: (scheme[1] as string).toLowerCase(), params });
  }
  return challenges;
}

export interface RegistryCredential {
  readonly username: string;
  readonly password: string;
}

export type CredentialLookup =
  /** `version` of the secret that it was read from. */
  | { readonly kind: 'found'; readonly credential: RegistryCredential; readonly version?: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'unavailable' };

/**
 * The tenants' own credentials for registries.
 *
 * Only the tenant's own credential is ever used: with another one, a tenant could find out which images others have.
 * `host` is `name[:port]` as in image references. An unreachable store is `unavailable`, never `none`.
 */
export interface RegistryCredentials {
  credentialsFor(tenant: string, host: string, signal: AbortSignal): Promise<CredentialLookup>;
}

/** A token that is valid in a header and not too long for servers. */
const TOKEN = /^[\x21-\x7e]{1,12000}$/;
const SERVICE_MAX = 256;

export interface ChallengeInput {
  readonly policy: RegistryPolicy;
  readonly location: ImageLocation;
  readonly credential?: RegistryCredential;
}

/**
 * Answers a challenge: returns the value of the `Authorization` header, or the final result of the check.
 *
 * The credential goes only to the registry it belongs to and to a token server that is known to be that registry's.
 */
export async function answerChallenge(
  transport: RegistryTransport,
  { policy, location, credential }: ChallengeInput,
  challenges: readonly Challenge[],
): Promise<string | ImageCheck> {
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
  if (!bearer) {
    const takesBasic = challenges.some(({ scheme }) => scheme === 'basic');
    return takesBasic && credential ? formatBasic(credential) : toUnreachable('denied');
  }
  const realm = findRealm(policy, location.registry, bearer.params.get('realm') ?? '');
  if (!realm) return toUnreachable('realm');

  const { url, host } = realm;
  const service = bearer.params.get('service');
  if (service !== undefined) url.searchParams.set('service', service.slice(0, SERVICE_MAX));
  // Never the scope of the challenge: a token that may do more than pull is worth stealing.
  url.searchParams.set('scope', `repository:${location.repository}:pull`);
  const answer = await transport.requestToken(url, host, credential ? { authorization: formatBasic(credential) } : {});
  return isFinal(answer) ? answer : readToken(answer);
}

function formatBasic({ username, password }: RegistryCredential): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function readToken({ status, body }: RegistryResponse): string | ImageCheck {
  if (status >= 300 && status < 400) return toUnreachable('redirected');
  if (status === 429 || status >= 500) return toUnreachable('failing');
  if (status !== 200) return toUnreachable('denied');
  try {
    const { token, access_token } = JSON.parse(body.toString('utf8')) as Readonly<Record<string, unknown>>;
    const given = token ?? access_token;
    return typeof given === 'string' && TOKEN.test(given) ? `Bearer ${given}` : toUnreachable('unintelligible');
  } catch {
    return toUnreachable('unintelligible');
  }
}
