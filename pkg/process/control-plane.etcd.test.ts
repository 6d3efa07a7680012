import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import { EtcdProcess } from '../../dev/processes/index.js';
import { systemClock, systemRandom } from '../clock/index.js';
import { loadSettings, toEnvironment } from '../config/index.js';
import { silentLogger } from '../log/index.js';
import { createMetrics } from '../metrics/index.js';
import { create } from '../store/index.js';
import { type ControlPlaneBackend, openBackend } from './control-plane.js';

describe('what server and controllers share, on a real etcd', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mooring-backend-'));
  const stop = new AbortController();
  const tenant = systemRandom.uuid();
  let etcd: EtcdProcess;
  let backend: ControlPlaneBackend;

  before(async () => {
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    const environment = { ...toEnvironment(etcd.access), MOORING_KEY_FILE: join(folder, 'keys') };
    const { settings } = loadSettings({ environment });
    const metrics = createMetrics({ processMetrics: false });
    const env = { clock: systemClock, random: systemRandom, log: silentLogger, metrics };
    backend = (await openBackend('server', settings, env, stop.signal))!;
  });
  after(async () => {
    await backend.close();
    await etcd.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** One record of each range: what exists, and what grows with what has happened. */
  const store = async (round: string) => {
    const records = [
      keys.deployment(tenant, round),
      `${ranges.of(ranges.events, tenant)}${round}`,
      keys.archive(tenant, `dep-${round}`, 1),
      keys.backupContent(tenant, round),
    ];
    for (const key of records) await create(backend.store, key, { round });
    return records;
  };

  it('has a cache of what exists, without events, archives and the contents of backups', async () => {
    const listed = await store('listed');
    const told: string[] = [];
    backend.cache.subscribe(({ key }) => told.push(key));
    backend.fillCache();
    await backend.cache.ready;
    const watched = await store('watched');
    await backend.cache.barrier();

    const cached = [...listed, ...watched].filter(key => backend.cache.get(key) !== undefined);
    expect(cached).to.deep.equal([listed[0], watched[0]]);
    for (const range of [ranges.events, ranges.archives, ranges.backupContents])
      expect(backend.cache.list(range), range).to.deep.equal([]);
    expect(told, 'an event, to watches of clients').to.include(watched[1]);
    expect((await backend.store.list('')).entries.map(({ key }) => key)).to.include.members([...listed, ...watched]);
  });
});
