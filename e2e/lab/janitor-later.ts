import { createControllers, createSecretLoops } from '../../controllers/index.js';
import { ranges } from '../../crds/keys/index.js';
import { type Clock, systemClock, systemRandom } from '../../pkg/clock/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { WatchCache } from '../../pkg/store/index.js';
import type { SecretsView } from './secrets-view.js';
import { until } from '../../dev/testing/index.js';

/** Longer than any request may take. */
const LATER_MS = 120_000;

/** Has the janitor work as if it were later than any request may take, until it has left nothing to do. */
export async function runJanitorLater({ store, secrets }: SecretsView): Promise<void> {
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + LATER_MS };
  const env = { store, clock, random: systemRandom, log: silentLogger };
  const cache = new WatchCache(env);
  const loops = createSecretLoops(secrets).filter(({ name }) => name === 'janitor');
  const lease = { holder: 'later', leaderLeaseSeconds: 9, eventRetentionDays: 1 };
  const janitor = createControllers({ ...env, ...lease, cache, loops });
  const [working, feeding] = [new AbortController(), new AbortController()];
  const fed = cache.run(feeding.signal);
  const worked = janitor.run(working.signal);
  try {
    await until('no intent to be left', async () => (await store.list(ranges.intents)).entries.length === 0);
  } finally {
    working.abort();
    await worked;
    feeding.abort();
    await fed;
  }
}
