import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { EtcdProcess } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { systemClock, systemRandom } from '../clock/index.js';
import { silentLogger } from '../log/index.js';
import { createMetrics } from '../metrics/index.js';
import { create, type EtcdStore, openEtcdStore, replace } from '../store/index.js';
import { maintainStore } from './store-maintenance.js';

const QUOTA_BYTES = 16 << 20;

describe('recovery of a full etcd', () => {
  let folder: string;
  let etcd: EtcdProcess;
  let store: EtcdStore;
  const stop = new AbortController();
  let maintaining: Promise<unknown> = Promise.resolve();

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-full-'));
    etcd = await EtcdProcess.start({
      dataDir: join(folder, 'data'),
      arguments: [`--quota-backend-bytes=${QUOTA_BYTES}`],
    });
    const env = { clock: systemClock, random: systemRandom, log: silentLogger };
    store = openEtcdStore({ ...etcd.access, etcdPrefix: '/full/' }, env);
  });
  after(async () => {
    stop.abort();
    await maintaining;
    await store.close();
    await etcd.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('ends the alarm without an administrator when it was history that filled it', async () => {
    const text = 'x'.repeat(210_000);
    for (let n = 0; n < 20; n++) await create(store, `kept/${n}`, { text });
    let isFull = false;
    for (let n = 0; !isFull; n++)
      isFull = await replace(store, (await store.get(`kept/${n % 20}`))!, { text }).then(
        () => false,
        () => true,
      );
    expect((await store.health()).alarms).to.deep.equal(['NOSPACE']);

    const env = { clock: systemClock, random: systemRandom, log: silentLogger };
    const settings = { etcdCompactEverySeconds: 300, etcdQuotaBytes: QUOTA_BYTES, eventRetentionDays: 7 };
    const metrics = createMetrics({ processMetrics: false });
    maintaining = maintainStore({ ...env, store, metrics, settings }, stop.signal);
    await until('the alarm to be taken back', async () => (await store.health()).alarms.length === 0);
    expect((await store.health()).databaseBytes).to.be.lessThan(QUOTA_BYTES / 2);
    expect(await metrics.text()).to.contain('mooring_store_defragmentations_total{result="done"} 1');
    for (let n = 0; n < 20; n++) expect(await store.get(`kept/${n}`), `kept/${n}`).not.to.equal(undefined);
    await until('a change to be taken', () => create(store, 'new', {}));
  });
});
