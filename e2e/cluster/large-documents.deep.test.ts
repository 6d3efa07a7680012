import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { keys } from '../../crds/keys/index.js';
import type { Client } from '../../pkg/client/index.js';
import { seededRandom, systemClock, systemRandom } from '../../pkg/clock/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { createMetrics } from '../../pkg/metrics/index.js';
import { maintainStore } from '../../pkg/process/store-maintenance.js';
import { create, EtcdStore, openEtcdStore, remove, replace, value } from '../../pkg/store/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { unwrap } from '../lab/tenant-client.js';
import { EtcdCluster } from './etcd-cluster.js';
import { readCertificates } from '../../pkg/certificates/index.js';

const QUOTA_BYTES = 256 << 20;
/** So large that compaction writes many of them anew. */
const DOCUMENT = { text: 'x'.repeat(210_000) };
const RECOVERS_WITHIN_MS = 400_000;
const ENV = { clock: systemClock, random: systemRandom, log: silentLogger };

interface Health {
  readonly databaseBytes: number;
  readonly isReserved: boolean;
  readonly alarms: readonly string[];
}

describe('a store that documents of 210 KB fill', function () {
  this.timeout(900_000);
  const endings: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of endings.splice(0).toReversed()) await end();
  });

  /** Stores documents until a member has less room than is kept for deletions, and gives their number. */
  async function fill(store: EtcdStore, write: (n: number) => Promise<unknown>): Promise<number> {
    for (let n = 0; ; n++) {
      const { databaseBytes, alarms } = await store.health();
      expect(alarms).to.deep.equal([]);
      if (databaseBytes > 0.91 * QUOTA_BYTES) return n;
      await write(n);
    }
  }

  it('takes deletions to the end, and tenants store again once they have made room, without an administrator', async () => {
    const settings = { MOORING_REGISTRY_CHECK: 'false', MOORING_ETCD_QUOTA_BYTES: String(QUOTA_BYTES) };
    const etcdArguments = [`--quota-backend-bytes=${QUOTA_BYTES}`];
    const plane = await ControlPlane.start(
      { ...settings, MOORING_ETCD_COMPACT_EVERY_SECONDS: '60' },
      { etcdArguments },
    );
    endings.push(() => plane.stop());
    const client: Client = plane.client(plane.access.tenantToken);
    const environment = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`TEXT_${n}`, 'x'.repeat(3_500)]));
    const body = (name: string) => ({ kind: 'Deployment', name, image: 'registry.example.com/web:1.0.0', environment });
    const apply = (name: string) => client.request('POST', '/api/v1/deployments', { body: body(name) });
    const readHealth = async () =>
      ((await (await fetch(`${plane.server}/healthz`)).json()) as { readonly store: Health }).store;
    const names = Array.from({ length: 24 }, (_, n) => `web-${n}`);
    for (const name of names) unwrap(await apply(name));

    const others = openEtcdStore({ ...plane.etcd.access, etcdPrefix: '/others/' }, ENV);
    endings.push(() => others.close());
    const count = await fill(others, n => create(others, `large/${n}`, DOCUMENT));
    await until('the server to have seen it', async () => (await readHealth()).isReserved);
    const refused = await apply('other');
    expect(refused.ok ? [] : refused.rejections.map(({ code }) => code)).to.deep.equal(['store_full']);

    for (const name of names) {
      unwrap(await client.request('DELETE', `/api/v1/deployments/${name}`));
      const isGone = async () => (await client.request('GET', `/api/v1/deployments/${name}`)).status === 404;
      await until(`${name} to be gone`, isGone);
    }
    // The only member answers nothing while it is defragmented.
    for (let n = 0; n < count / 2; n += 2)
      await until(`large/${n} to be gone`, async () => {
        const entry = await others.get(`large/${n}`);
        if (entry) await remove(others, entry);
        return true;
      });

    const isFree = async () => !(await readHealth()).isReserved;
    await until('the reserve to end', isFree, RECOVERS_WITHIN_MS);
    unwrap(await apply('other'));
    expect((await readHealth()).databaseBytes).to.be.lessThan(0.87 * QUOTA_BYTES);
    const admin = plane.client(plane.access.adminToken);
    const headers = { 'X-Tenant-ID': plane.access.platform.id };
    const path = '/api/v1/events?type=store.alarm_raised';
    const raised = unwrap(await admin.request<{ items: unknown[] }>('GET', path, { headers })).items;
    expect(raised, 'alarms').to.deep.equal([]);
    const { entries } = await until('etcd to answer', () => others.list('large/'));
    expect(entries).to.have.length(count - Math.ceil(count / 4));
  });

  it('gets its room back from three members that go on serving while each is defragmented', async () => {
    const cluster = await EtcdCluster.start({ arguments: [`--quota-backend-bytes=${QUOTA_BYTES}`] });
    endings.push(() => cluster.stop());
    const open = (endpoints: readonly string[]) => {
      const store = new EtcdStore({ endpoints, prefix: '/large/', tls: readCertificates(cluster.certificates) });
      endings.push(() => store.close());
      return store;
    };
    const store = open(cluster.endpoints);
    const random = seededRandom(36);
    for (let n = 0; n < 450; n++) await create(store, `kept/${n}`, DOCUMENT);
    await fill(store, async () =>
      replace(store, (await store.get(`kept/${Math.floor(random.next() * 450)}`))!, DOCUMENT),
    );

    const stop = new AbortController();
    const metrics = [1, 2].map(() => createMetrics({ processMetrics: false }));
    const settings = { etcdCompactEverySeconds: 300, etcdQuotaBytes: QUOTA_BYTES, eventRetentionDays: 7 };
    const processes = metrics.map(own =>
      maintainStore({ ...ENV, store: open(cluster.endpoints), metrics: own, settings }, stop.signal),
    );
    endings.push(
      () => Promise.all(processes),
      async () => stop.abort(),
    ); // the last one is ended first

    /** Through which member something was stored while another was defragmented. */
    const served = new Map<string, Set<number>>();
    const writers = cluster.endpoints.map(async (endpoint, number) => {
      const own = open([endpoint]);
      await create(own, `small/${number}`, {});
      while (!stop.signal.aborted) {
        try {
          const before = await own.get(keys.recovery());
          await replace(own, (await own.get(`small/${number}`))!, {});
          const after = await own.get(keys.recovery());
          const step = before && value<{ step: string }>(before).step;
          if (!step || step !== (after && value<{ step: string }>(after).step)) continue;
          served.set(step, (served.get(step) ?? new Set()).add(number));
        } catch {
          // this member is the one that answers nothing now
        }
      }
    });
    const countDone = async () => {
      const texts = await Promise.all(metrics.map(own => own.text()));
      return texts.map(text => Number(/defragmentations_total\{result="done"\} (\d+)/.exec(text)?.[1] ?? 0));
    };
    const isRecovered = async () => (await countDone()).some(count => count === 3);
    await until('every member to have room', isRecovered, RECOVERS_WITHIN_MS);
    stop.abort();
    await Promise.all(writers);

    const steps = [...served.keys()].filter(step => step.startsWith('defragment'));
    expect(steps.toSorted()).to.deep.equal([0, 1, 2].map(number => `defragment member${number}`));
    const leader = (await store.members()).find(({ isLeader }) => isLeader)!;
    expect(steps.at(-1), 'the leader comes last').to.equal(`defragment ${leader.name}`);
    expect((await store.health()).alarms).to.deep.equal([]);
    expect(
      (await countDone()).toSorted((a, b) => a - b),
      'by one process',
    ).to.deep.equal([0, 3]);
    const sizes = (await store.members()).map(({ databaseBytes }) => databaseBytes);
    expect(Math.max(...sizes)).to.be.lessThan(0.5 * QUOTA_BYTES);
    for (let n = 0; n < 450; n++) expect(await store.get(`kept/${n}`), `kept/${n}`).not.to.equal(undefined);
  });
});
