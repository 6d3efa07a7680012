import {
  type Cache,
  ConflictFault,
  OutcomeUnknownFault,
  StoreUnavailableFault,
  type Verdict,
} from '../../pkg/store/index.js';
import { rejectRequest, RequestRejection } from './reply.js';
import type { RouteResult } from './route.js';

/**
 * Refuses a write that was based on another revision than the stored one. The client names the revision it has seen in
 * `If-Match`, or by sending back the metadata it was given; where it names none, any will do.
 */
export function checkIfMatch(
  header: string | undefined,
  metadataRevision: string | undefined,
  revision: number,
): RequestRejection | undefined {
  const current = String(revision);
  if (header !== undefined && !matches(header, current)) {
    return rejectRequest('revision_mismatch', 'If-Match', header, { current });
  }
  if (metadataRevision !== undefined && metadataRevision !== current) {
    return rejectRequest('revision_mismatch', 'metadata.revision', metadataRevision, { current });
  }
  return undefined;
}

/** A revision without quotes is no entity tag, but what the body of an answer shows, and nothing else can be meant. */
function matches(header: string, current: string): boolean {
  return header
    .split(',')
    .map(tag => tag.trim())
    .some(tag => tag === '*' || tag === current || tag === `"${current}"`);
}

const ATTEMPTS = 8;

/** Repeats an attempt until it gives a result. Undefined means that a concurrent write was stored first. */
export async function retryOnConflict(
  name: string,
  attempt: () => Promise<RouteResult | undefined>,
): Promise<RouteResult> {
  for (let count = 1; count <= ATTEMPTS; count++) {
    const outcome = await attempt();
    if (outcome) return outcome;
  }
  throw new ConflictFault(name, ATTEMPTS);
}

/** Waits until a write is stored and the cache shows it. False when a guard failed, so that nothing was stored. */
export async function waitUntilStored(cache: Pick<Cache, 'reached'>, write: Promise<Verdict>): Promise<boolean> {
  const verdict = await write;
  if (verdict.stored) await waitUntilCached(cache, verdict.revision);
  return verdict.stored;
}

/**
 * Waits until the cache shows a write that was made. One that it does not show in time cannot be answered for here, but
 * was stored: saying that the store is unavailable would promise that it was not.
 */
export async function waitUntilCached(cache: Pick<Cache, 'reached'>, revision: number): Promise<void> {
  try {
    await cache.reached(revision);
  } catch (thrown) {
    if (thrown instanceof StoreUnavailableFault) throw new OutcomeUnknownFault({ cause: thrown });
    throw thrown;
  }
}
