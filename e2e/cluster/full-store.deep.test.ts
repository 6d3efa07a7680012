import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { expect } from 'chai';

import { EtcdProcess, findFreePort } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import type { Client } from '../../pkg/client/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import {
  create,
  type EtcdStore,
  openEtcdStore,
  remove as removeEntry,
  StoreUnavailableFault,
} from '../../pkg/store/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { unwrap } from '../lab/tenant-client.js';
import { explainNoSnapshots } from './tools.js';

interface Health {
  readonly status: string;
  readonly store: {
    readonly databaseBytes?: number;
    readonly quotaBytes?: number;
    readonly alarms?: readonly string[];
    readonly isReserved?: boolean;
  };
}

const QUOTA_BYTES = 16 << 20;
/** etcd writes to its file every 100 ms, and counts what is in it: more writes in between would pass the quota unseen. */
const ETCD_COUNTS_AFTER_MS = 150;
/** Rounds that gain nothing come later and later: the next one may be a minute away. */
const RECOVERS_WITHIN_MS = 120_000;
const obstacle = explainNoSnapshots();
const itRecovers = (title: string, test: () => Promise<void>) =>
  obstacle === undefined ? it(title, test) : it.skip(`${title} (${obstacle})`);

/** The steps of docs/OPERATIONS.md, "The alarm NOSPACE", with real processes. */
describe('a control plane whose etcd is full', function () {
  this.timeout(300_000);
  const endings: (() => Promise<unknown>)[] = [];
  let plane: ControlPlane;
  let client: Client;
  let metricsOfControllers: string;

  beforeEach(async () => {
    const metricsListen = `127.0.0.1:${await findFreePort()}`;
    metricsOfControllers = `http://${metricsListen}/metrics`;
    const settings = {
      MOORING_REGISTRY_CHECK: 'false',
      MOORING_METRICS_LISTEN: metricsListen,
      MOORING_ETCD_QUOTA_BYTES: String(QUOTA_BYTES),
    };
    plane = await ControlPlane.start(settings, { etcdArguments: [`--quota-backend-bytes=${QUOTA_BYTES}`] });
    endings.push(() => plane.stop());
    client = plane.client(plane.access.tenantToken);
  });
  afterEach(async () => {
    for (const end of endings.splice(0).toReversed()) await end();
  });

  const apply = (name: string) =>
    client.request('POST', '/api/v1/deployments', {
      body: { kind: 'Deployment', name, image: 'registry.example.com/shop/web:1.4.2' },
    });
  const remove = (name: string) => client.request('DELETE', `/api/v1/deployments/${name}`);
  const statusOf = async (path: string) => (await client.request('GET', path)).status;
  /** Nothing of the store where it was asked too often. */
  const readHealth = async () => {
    const health = (await (await fetch(`${plane.server}/healthz`)).json()) as Partial<Health>;
    return { store: {}, ...health } as Health;
  };
  const readMetrics = async (url: string) => (await fetch(url)).text();

  /** A client of ours beside the control plane. */
  function openOthers(): EtcdStore {
    const env = { clock: systemClock, random: systemRandom, log: silentLogger };
    const store = openEtcdStore({ ...plane.etcd.access, etcdPrefix: '/others/' }, env);
    endings.push(() => store.close());
    return store;
  }

  /** Stores documents until etcd takes no more: no history, which the controllers would forget. */
  async function fill(store: EtcdStore): Promise<void> {
    const document = { text: 'x'.repeat(256 << 10) };
    let number = 0;
    await until('etcd to be full', async () => {
      const outcome = await create(store, `large/${number++}`, document).catch((thrown: unknown) => thrown);
      return outcome instanceof StoreUnavailableFault && /takes no more data/.test(outcome.message);
    });
  }

  /** Deletes every other document, which etcd takes under its alarm too. */
  async function makeRoom(store: EtcdStore): Promise<void> {
    const { entries } = await store.list('large/');
    for (const entry of entries.filter((_, number) => number % 2 === 0)) await removeEntry(store, entry);
  }

  /** What an operator types. */
  function etcdctl(...words: readonly string[]): string {
    const { etcdEndpoints, etcdCaFile, etcdCertFile, etcdKeyFile } = plane.etcd.access;
    const files = [`--cacert=${etcdCaFile}`, `--cert=${etcdCertFile}`, `--key=${etcdKeyFile}`];
    const env = { ...process.env, ETCDCTL_API: '3' };
    const argv = [`--endpoints=${etcdEndpoints.join()}`, ...files, ...words];
    return execFileSync('etcdctl', argv, { encoding: 'utf8', stdio: 'pipe', timeout: 60_000, env });
  }

  const expectRefused = async (name: string) => {
    const refused = await remove(name);
    expect(refused.ok ? [] : refused.rejections.map(({ code }) => code)).to.deep.equal(['store_unavailable']);
    const shown = unwrap(await client.request<{ metadata: object }>('GET', `/api/v1/deployments/${name}`));
    expect(shown.metadata).not.to.have.property('deletedAt');
  };

  const expectServed = async (name: string) => {
    await until('a deletion to be taken', async () => unwrap(await remove(name)) && true);
    await until('the deployment to be gone', async () => (await statusOf(`/api/v1/deployments/${name}`)) === 404);
  };

  it('says so everywhere, stores nothing, and serves again by itself once something was deleted', async () => {
    unwrap(await apply('web'));
    const extra = unwrap(await client.request<{ id: string }>('POST', '/api/v1/tokens', { body: { role: 'viewer' } }));
    const well = await until('the size to be known', async () => {
      const { store } = await readHealth();
      return store.databaseBytes === undefined ? undefined : store;
    });
    expect(well).to.deep.include({ quotaBytes: QUOTA_BYTES, alarms: [] });
    expect(well.databaseBytes).to.be.greaterThan(0);

    const others = openOthers();
    await fill(others);
    await until('the alarm in /healthz', async () => (await readHealth()).store.alarms?.includes('NOSPACE'));
    const isUnwell = async () => (await fetch(`${plane.server}/healthz`)).status === 503;
    await until('/healthz to say so', isUnwell);
    for (const url of [`${plane.server}/metrics`, metricsOfControllers])
      await until(`the alarm in ${url}`, async () => (await readMetrics(url)).includes('mooring_store_alarms 1'));
    await expectRefused('web');
    expect((await apply('other')).status, 'a write').to.equal(503);
    expect(await statusOf('/api/v1/deployments'), 'a read').to.equal(200);
    const revoked = await client.request('DELETE', `/api/v1/tokens/${extra.id}`);
    expect(revoked.status, 'a record that is removed without a mark').to.equal(200);

    await makeRoom(others);
    await until(
      'the alarm to be taken back',
      async () => (await others.health()).alarms.length === 0,
      RECOVERS_WITHIN_MS,
    );
    await expectServed('web');
    await until('a deployment to be taken', async () => unwrap(await apply('next')) && true);
    await until('/healthz to be well', async () => (await fetch(`${plane.server}/healthz`)).ok);

    const admin = plane.client(plane.access.adminToken);
    const headers = { 'X-Tenant-ID': plane.access.platform.id };
    const count = async (type: string) =>
      unwrap(await admin.request<{ items: unknown[] }>('GET', `/api/v1/events?type=${type}`, { headers })).items.length;
    await until('the end of the alarm to be told', async () => (await count('store.alarm_cleared')) > 0);
    expect([await count('store.alarm_raised'), await count('store.alarm_cleared')]).to.deep.equal([1, 1]);
  });

  it('keeps room for deletions before it is full: tenants delete to the end, and store again once there is room', async () => {
    unwrap(await apply('web'));
    const store = openOthers();
    const document = { text: 'x'.repeat(128 << 10) };
    // A defragmentation gives back what a file that fills leaves free, so that the reserve begins more than once.
    await until('what exists to fill it, and the server to have seen that', async () => {
      const { isReserved } = (await readHealth()).store;
      const count = (await store.list('large/')).entries.length;
      const isEnough = count * document.text.length > 0.85 * QUOTA_BYTES;
      if (isReserved === false || !isEnough) await create(store, `large/${count}`, document);
      await pause(ETCD_COUNTS_AFTER_MS);
      return isReserved && isEnough;
    });

    const refused = await apply('other');
    expect(refused.ok ? [] : refused.rejections.map(({ code }) => code)).to.deep.equal(['store_full']);
    const body = { kind: 'Deployment', name: 'other', image: 'registry.example.com/shop/web:1.4.2' };
    expect((await client.request('POST', '/api/v1/deployments?dryRun=true', { body })).status).to.equal(200);
    const admin = plane.client(plane.access.adminToken);
    const headers = { 'X-Tenant-ID': plane.access.tenant.id };
    expect((await admin.request('POST', '/api/v1/deployments', { body, headers })).status).to.equal(201);
    for (const name of ['web', 'other']) {
      unwrap(await remove(name));
      await until(`${name} to be gone`, async () => (await statusOf(`/api/v1/deployments/${name}`)) === 404);
    }
    expect((await store.health()).alarms).to.deep.equal([]);

    await makeRoom(store);
    await until('a deployment to be taken', async () => unwrap(await apply('next')) && true, RECOVERS_WITHIN_MS);
    expect((await store.health()).alarms).to.deep.equal([]);
  });

  itRecovers('starts with the alarm standing, and serves again with a larger quota', async () => {
    unwrap(await apply('web'));
    await fill(openOthers());
    await expectRefused('web');

    await plane.etcd.kill('SIGTERM');
    const larger = await EtcdProcess.start({
      dataDir: join(plane.folder, 'etcd'),
      certificates: join(plane.folder, 'certificates'),
      clientPort: plane.etcd.port,
      peerPort: plane.etcd.peerPort,
      arguments: [`--quota-backend-bytes=${4 * QUOTA_BYTES}`],
    });
    endings.push(() => larger.kill('SIGKILL'));
    await until('etcd to be reached', async () => (await statusOf('/api/v1/deployments/web')) === 200);
    await expectRefused('web');
    etcdctl('alarm', 'disarm');
    await expectServed('web');
    // The server still keeps room in the smaller quota that it was given: that does not bind an administrator.
    const body = { kind: 'Deployment', name: 'next', image: 'registry.example.com/shop/web:1.4.2' };
    const headers = { 'X-Tenant-ID': plane.access.tenant.id };
    const admin = plane.client(plane.access.adminToken);
    unwrap(await admin.request('POST', '/api/v1/deployments', { body, headers }));
  });
});
