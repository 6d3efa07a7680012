import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { seededRandom } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import { createMetrics } from '../metrics/index.js';
import { create, MemoryStore, type Revision, value } from '../store/index.js';
import { maintainStore } from './store-maintenance.js';

const PLATFORM = 'a3b8f042-1e16-4f0a-8f0e-5d7f6f1f2f3a';

describe('maintenance of the store', () => {
  it('compacts history, measures size and alarms, and announces alarms', async () => {
    const clock = new ManualClock();
    const metrics = createMetrics({ processMetrics: false });
    const compacted: Revision[] = [];
    let alarms: readonly string[] = [];
    const store = Object.assign(new MemoryStore({ clock }), {
      compact: async (revision: Revision) => void compacted.push(revision),
      health: async () => ({ databaseBytes: 4_096, usedBytes: 4_096, alarms }),
      members: async () => [],
      defragment: async () => undefined,
      disarm: async () => undefined,
      putUncounted: async () => undefined,
    });
    await create(store, keys.tenant(PLATFORM), { id: PLATFORM, name: 'platform', platform: true });
    const stop = new AbortController();
    const settings = { etcdCompactEverySeconds: 300, etcdQuotaBytes: 1 << 20, eventRetentionDays: 7 };
    const env = { clock, random: seededRandom(1), log: silentLogger };
    const maintaining = maintainStore({ ...env, store, metrics, settings }, stop.signal);

    await clock.pass(60_000);
    expect(compacted, 'history of the last interval').to.deep.equal([]);
    expect(await metrics.text())
      .to.contain('mooring_store_database_bytes 4096')
      .and.contain('mooring_store_quota_bytes 1048576')
      .and.contain('mooring_store_alarms 0');
    alarms = ['NOSPACE'];
    await clock.pass(60_000);
    expect(await metrics.text()).to.contain('mooring_store_alarms 1');
    alarms = [];
    await clock.pass(60_000);
    const { entries } = await store.list(ranges.events);
    expect(entries.map(entry => value<StoredEvent>(entry).type)).to.deep.equal([
      'store.alarm_raised',
      'store.alarm_cleared',
    ]);

    await clock.pass(600_000);
    expect(compacted).to.have.length.within(1, 2);
    stop.abort();
    await maintaining;
  });
});
