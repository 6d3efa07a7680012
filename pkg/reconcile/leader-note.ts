import { keys } from '../../crds/keys/index.js';
import type { Clock } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { encode, type LeaderRecord, value } from '../store/index.js';
import type { Office } from './fenced-commit.js';

const AT_MOST_EVERY_MS = 15_000;

/**
 * Notes in the leader's record when the loop last reconciled something, for the health page.
 *
 * At most every 15 seconds, and never while there is nothing to do: an idle loop writes nothing.
 */
export function leaderNote(loop: string, office: Office, clock: Clock, log: Logger): () => void {
  const key = keys.leader(loop);
  let notBefore = 0;

  const note = async () => {
    const entry = office.cache.get(key);
    if (!entry || office.lost.aborted) return;
    const record = value<LeaderRecord>(entry);
    await office.store.commit({
      guards: [{ key, at: entry.revision }, office.fence],
      puts: [
        {
          key,
          bytes: encode({ ...record, lastReconcileAt: new Date(clock.now()).toISOString() }),
          lease: record.lease,
        },
      ],
      deletes: [],
    });
  };

  return () => {
    if (clock.monotonic() < notBefore) return;
    notBefore = clock.monotonic() + AT_MOST_EVERY_MS;
    note().catch((thrown: unknown) => log.debug('a leader could not note its work', { error: asError(thrown) }));
  };
}
