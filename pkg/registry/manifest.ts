import { createHash } from 'node:crypto';

import { answerChallenge, type Challenge, type CredentialLookup, parseChallenges } from './challenge.js';
import { isFinal, type RegistryResponse } from './http-exchange.js';
import type { ImageLocation } from './image-location.js';
import { type ImageCheck, toUnreachable } from './image-check.js';
import type { RegistryPolicy } from './policy.js';
import type { RegistryTransport } from './transport.js';

/** Manifests and manifest lists, of Docker and of OCI. */
const MEDIA_TYPES: readonly string[] = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
const DIGEST = /^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$/;
/** Error codes for a missing manifest; the third is Harbor's. */
const UNKNOWN: readonly unknown[] = ['MANIFEST_UNKNOWN', 'NAME_UNKNOWN', 'NOT_FOUND'];

/** The registry requires authentication. */
interface ChallengeResult {
  readonly challenges: readonly Challenge[];
}

/**
 * Checks whether the registry has the manifest, without reading it.
 *
 * When a registry refuses HEAD, or responds 404 without a body that confirms it, GET tries again: any web server responds
 * 404, but only a registry sends the error code of a missing manifest.
 */
export async function checkManifest(
  transport: RegistryTransport,
  location: ImageLocation,
  authorization?: string,
): Promise<ImageCheck | ChallengeResult> {
  const headers = { accept: MEDIA_TYPES.join(', '), ...(authorization !== undefined && { authorization }) };
  const path = `/v2/${location.repository}/manifests/${location.reference}`;
  const head = await transport.requestRegistry(location.registry, { method: 'HEAD', path, headers });
  if (isFinal(head)) return head;
  if (![400, 404, 405, 501].includes(head.status)) return interpretResponse(head, location);

  const full = await transport.requestRegistry(location.registry, { method: 'GET', path, headers });
  if (isFinal(full)) return full;
  return interpretResponse(full, location, `sha256:${createHash('sha256').update(full.body).digest('hex')}`);
}

/** Fetches the challenges of a registry that allowed anonymous access. */
export async function fetchChallenges(
  transport: RegistryTransport,
  { registry }: ImageLocation,
): Promise<readonly Challenge[]> {
  const answer = await transport.requestRegistry(registry, { method: 'GET', path: '/v2/', headers: {} });
  return isFinal(answer) || answer.status !== 401 ? [] : readChallenges(answer);
}

/** Interprets a response. `received` is the digest of the manifest, if it was sent. */
function interpretResponse(
  answer: RegistryResponse,
  location: ImageLocation,
  received?: string,
): ImageCheck | ChallengeResult {
  const { status, headers, body } = answer;
  if (status === 200) return checkPresence(headers, location, received);
  if (status === 401) return { challenges: readChallenges(answer) };
  if (status === 403) return toUnreachable('denied');
  if (status === 404) return confirmsAbsence(body) ? { outcome: 'absent' } : toUnreachable('unintelligible');
  if (status >= 300 && status < 400) return toUnreachable('redirected');
  return toUnreachable(status === 429 || status >= 500 ? 'failing' : 'unintelligible');
}

/** Accepts a manifest only if it has a manifest's media type and the requested digest. */
function checkPresence(
  headers: RegistryResponse['headers'],
  location: ImageLocation,
  received: string | undefined,
): ImageCheck {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';');
  const claimed = headers['docker-content-digest'];
  const digests = [claimed, received, location.digest].filter(digest => digest !== undefined);
  const agrees = digests.every(digest => typeof digest === 'string' && isConsistent(digest, digests as string[]));
  if (!agrees || !MEDIA_TYPES.includes(mediaType.trim().toLowerCase())) return toUnreachable('unintelligible');
  const [digest] = digests;
  return { outcome: 'present', ...(typeof digest === 'string' && { digest }) };
}

/** Whether digests of the same algorithm are equal. */
function isConsistent(digest: string, others: readonly string[]): boolean {
  const algorithm = digest.slice(0, digest.indexOf(':') + 1);
  return DIGEST.test(digest) && others.every(other => other === digest || !other.startsWith(algorithm));
}

function confirmsAbsence(body: Buffer): boolean {
  try {
    const { errors } = JSON.parse(body.toString('utf8')) as { readonly errors?: unknown };
    return Array.isArray(errors) && errors.some(error => UNKNOWN.includes((error as { code?: unknown } | null)?.code));
  } catch {
    return false; // not JSON
  }
}

function readChallenges({ headers }: RegistryResponse): readonly Challenge[] {
  return parseChallenges(headers['www-authenticate']);
}

export interface ImageCheckInput {
  readonly policy: RegistryPolicy;
  readonly location: ImageLocation;
  /** Looks up the tenant's own credential for this registry. */
  readonly credential: () => Promise<CredentialLookup>;
}

/**
 * Checks whether a registry has an image: first anonymously, then, if needed, with the tenant's credential.
 *
 * A registry may hide images from anonymous clients, so an absence counts only when the tenant's credential was used, or
 * there is none.
 */
export async function checkImage(transport: RegistryTransport, input: ImageCheckInput): Promise<ImageCheck> {
  const { location, credential } = input;
  const first = await checkManifest(transport, location);
  if ('outcome' in first && !mayDependOnCredential(first)) return first;

  const known = await credential();
  if ('challenges' in first) return checkAsTenant(transport, input, known, first.challenges);
  if (known.kind === 'none') return isDenied(first) ? { outcome: 'login_required' } : first;
  if (known.kind === 'unavailable') return { outcome: 'credential_store_unavailable' };

  const challenges = await fetchChallenges(transport, location);
  if (challenges.length === 0) return isDenied(first) ? { outcome: 'credential_refused' } : first;
  return checkAsTenant(transport, input, known, challenges);
}

async function checkAsTenant(
  transport: RegistryTransport,
  { policy, location }: ImageCheckInput,
  known: CredentialLookup,
  challenges: readonly Challenge[],
): Promise<ImageCheck> {
  const input = { policy, location, ...(known.kind === 'found' && { credential: known.credential }) };
  const authorization = await answerChallenge(transport, input, challenges);
  const second =
    typeof authorization === 'string' ? await checkManifest(transport, location, authorization) : authorization;
  const check = 'challenges' in second ? toUnreachable('denied') : second;
  if (known.kind === 'unavailable' && mayDependOnCredential(check)) return { outcome: 'credential_store_unavailable' };
  if (!isDenied(check)) return check;
  return { outcome: known.kind === 'found' ? 'credential_refused' : 'login_required' };
}

function isDenied(check: ImageCheck): boolean {
  return check.outcome === 'unreachable' && check.reason === 'denied';
}

/** Whether the tenant's credential could have led to another result. */
function mayDependOnCredential(check: ImageCheck): boolean {
  return check.outcome === 'absent' || isDenied(check);
}
