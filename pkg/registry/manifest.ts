import { createHash } from 'node:crypto';

import { type Challenge, parseChallenges } from './challenge.js';
import type { Answer } from './exchange.js';
import type { ImageLocation } from './image-location.js';
import { isEnd, type Line } from './line.js';
import { type ImageCheck, unreachable } from './outcome.js';

/** Manifests and lists of manifests, in Docker's dress and in OCI's. */
const MEDIA_TYPES: readonly string[] = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
const DIGEST = /^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$/;
/** Words that registries have for it; the third is Harbor's. */
const UNKNOWN: readonly unknown[] = ['MANIFEST_UNKNOWN', 'NAME_UNKNOWN', 'NOT_FOUND'];

/** The registry wants to know who asks. */
export interface Challenged {
  readonly challenges: readonly Challenge[];
}

/**
 * Asks for the manifest, and does not read it.
 *
 * Where a registry refuses HEAD, or says "not found" without a body that could confirm it, GET asks again: anything on the
 * internet answers 404, and only a registry says what it does not know.
 */
export async function askManifest(
  line: Line,
  location: ImageLocation,
  authorization?: string,
): Promise<ImageCheck | Challenged> {
  const headers = { accept: MEDIA_TYPES.join(', '), ...(authorization !== undefined && { authorization }) };
  const path = `/v2/${location.repository}/manifests/${location.wanted}`;
  const head = await line.askRegistry(location.registry, { method: 'HEAD', path, headers });
  if (isEnd(head)) return head;
  if (![400, 404, 405, 501].includes(head.status)) return verdictOf(head, location);

  const full = await line.askRegistry(location.registry, { method: 'GET', path, headers });
  if (isEnd(full)) return full;
  return verdictOf(full, location, sha256(full.body));
}

/** Asks a registry that has let us in as a stranger how it would know us. */
export async function askChallenges(line: Line, { registry }: ImageLocation): Promise<readonly Challenge[]> {
  const answer = await line.askRegistry(registry, { method: 'GET', path: '/v2/', headers: {} });
  return isEnd(answer) || answer.status !== 401 ? [] : challengesOf(answer);
}

/** What an answer means. `received` is the digest of the manifest, where it was sent. */
function verdictOf(answer: Answer, location: ImageLocation, received?: string): ImageCheck | Challenged {
  const { status, headers, body } = answer;
  if (status === 200) return presence(headers, location, received);
  if (status === 401) return { challenges: challengesOf(answer) };
  if (status === 403) return unreachable('denied');
  if (status === 404) return confirmsAbsence(body) ? { outcome: 'absent' } : unreachable('unintelligible');
  if (status >= 300 && status < 400) return unreachable('redirected');
  return unreachable(status === 429 || status >= 500 ? 'failing' : 'unintelligible');
}

/** Believes in a manifest only if it is one, and the one that was asked for. */
function presence(headers: Answer['headers'], location: ImageLocation, received: string | undefined): ImageCheck {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';');
  const claimed = headers['docker-content-digest'];
  const digests = [claimed, received, location.digest].filter(digest => digest !== undefined);
  const agrees = digests.every(digest => typeof digest === 'string' && agree(digest, digests as string[]));
  if (!agrees || !MEDIA_TYPES.includes(mediaType.trim().toLowerCase())) return unreachable('unintelligible');
  const [digest] = digests;
  return { outcome: 'present', ...(typeof digest === 'string' && { digest }) };
}

/** Digests of different algorithms cannot contradict each other. */
function agree(digest: string, others: readonly string[]): boolean {
  const algorithm = digest.slice(0, digest.indexOf(':') + 1);
  return DIGEST.test(digest) && others.every(other => other === digest || !other.startsWith(algorithm));
}

function confirmsAbsence(body: Buffer): boolean {
  try {
    const { errors } = JSON.parse(body.toString('utf8')) as { readonly errors?: unknown };
    return Array.isArray(errors) && errors.some(error => UNKNOWN.includes((error as { code?: unknown } | null)?.code));
  } catch {
    return false; // no JSON, or none that can be read
  }
}

function challengesOf({ headers }: Answer): readonly Challenge[] {
  return parseChallenges(headers['www-authenticate']);
}

function sha256(body: Buffer): string {
  return `sha256:${createHash('sha256').update(body).digest('hex')}`;
}
