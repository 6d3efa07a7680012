import type { Challenge } from './challenge.js';
import type { RegistryCredential } from './credentials.js';
import type { Answer } from './exchange.js';
import type { ImageLocation } from './image-location.js';
import { isEnd, type Line } from './line.js';
import { type ImageCheck, unreachable } from './outcome.js';
import { type RegistryPolicy, realmOf } from './policy.js';

/** What may stand in a header, and no more than servers take. */
const TOKEN = /^[\x21-\x7e]{1,12000}$/;
const SERVICE_MAX = 256;

/** Who is asking for entry to what. */
export interface Visitor {
  readonly policy: RegistryPolicy;
  readonly location: ImageLocation;
  readonly credential?: RegistryCredential;
}

/**
 * Answers a challenge with the value of the header `Authorization`, or says why that cannot be done.
 *
 * The credential goes to the registry it belongs to, and to a token server that is known to be that registry's.
 */
export async function authorise(
  line: Line,
  { policy, location, credential }: Visitor,
  challenges: readonly Challenge[],
): Promise<string | ImageCheck> {
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
  if (!bearer) {
    const takesBasic = challenges.some(({ scheme }) => scheme === 'basic');
    return takesBasic && credential ? basic(credential) : unreachable('denied');
  }
  const realm = realmOf(policy, location.registry, bearer.params.get('realm') ?? '');
  if (!realm) return unreachable('realm');

  const { url, host } = realm;
  const service = bearer.params.get('service');
  if (service !== undefined) url.searchParams.set('service', service.slice(0, SERVICE_MAX));
  // Never what the challenge asks for: a token that may do more than look is worth stealing.
  url.searchParams.set('scope', `repository:${location.repository}:pull`);
  const answer = await line.askRealm(url, host, credential ? { authorization: basic(credential) } : {});
  return isEnd(answer) ? answer : tokenIn(answer);
}

function basic({ username, password }: RegistryCredential): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function tokenIn({ status, body }: Answer): string | ImageCheck {
  if (status >= 300 && status < 400) return unreachable('redirected');
  if (status === 429 || status >= 500) return unreachable('failing');
  if (status !== 200) return unreachable('denied');
  try {
    const { token, access_token } = JSON.parse(body.toString('utf8')) as Readonly<Record<string, unknown>>;
    const given = token ?? access_token;
    return typeof given === 'string' && TOKEN.test(given) ? `Bearer ${given}` : unreachable('unintelligible');
  } catch {
    return unreachable('unintelligible');
  }
}
