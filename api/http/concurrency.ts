import { type Cache, ConflictFault, type Verdict } from '../../pkg/store/index.js';
import type { RouteResult } from './route.js';

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
  if (verdict.stored) await cache.reached(verdict.revision);
  return verdict.stored;
}
