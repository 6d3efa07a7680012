import { type Cache, OutcomeUnknownFault, type Revision, StoreUnavailableFault } from '../pkg/store/index.js';

/**
 * Waits until the cache shows a write that was made. One that it does not show in time cannot be answered for here, but
 * was stored: saying that the store is unavailable would promise that it was not.
 */
export async function untilShown(cache: Pick<Cache, 'reached'>, revision: Revision): Promise<void> {
  try {
    await cache.reached(revision);
  } catch (thrown) {
    if (thrown instanceof StoreUnavailableFault) throw new OutcomeUnknownFault({ cause: thrown });
    throw thrown;
  }
}
