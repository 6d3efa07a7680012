import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { expect } from 'chai';

import { itDeep } from '../../dev/testing/index.js';
import { TcpProxy } from '../../dev/processes/index.js';
import { CertificateFolder, readCertificates } from '../../pkg/certificates/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import {
  CompactedFault,
  compactPeriodically,
  create,
  EtcdStore,
  type EtcdStoreOptions,
  openEtcdStore,
  remove,
  StoreUnavailableFault,
} from '../../pkg/store/index.js';
import { EtcdCluster, TEST_ETCD_ARGUMENTS } from './etcd-cluster.js';
import { pollUntil } from './poll-until.js';
import { explainNoNamespaces } from './network.js';
import { followAll, type FollowRecorder } from './follow-recorder.js';

const obstacle = explainNoNamespaces();
const itIsolates = (title: string, test: () => Promise<void>) =>
  obstacle === undefined ? it(title, test) : it.skip(`${title} (${obstacle})`);

/** Everything that follows was found by breaking real members, and failed before it was fixed. */
describe('three etcd members, broken on purpose', function () {
  this.timeout(120_000);
  let cluster: EtcdCluster;
  let prefixes = 0;
  const endings: (() => Promise<unknown>)[] = [];

  before(async () => {
    cluster = await EtcdCluster.start({ arguments: TEST_ETCD_ARGUMENTS });
  });
  afterEach(async () => {
    for (const end of endings.splice(0).toReversed()) await end();
    await cluster.heal();
  });
  after(() => cluster.stop());

  function open(options: Partial<EtcdStoreOptions> = {}): EtcdStore {
    const tls = readCertificates(cluster.certificates);
    const store = new EtcdStore({ endpoints: cluster.endpoints, prefix: `/finding-${prefixes}/`, tls, ...options });
    endings.push(() => store.close());
    return store;
  }

  function follow(store: EtcdStore): FollowRecorder {
    const tail = followAll(store);
    endings.push(() => tail.close());
    return tail;
  }

  /** One address in front of all members, as a load balancer is. `target` chooses the member of each new connection. */
  async function balance(target: () => number): Promise<TcpProxy> {
    const proxy = await TcpProxy.start(() => cluster.target(target()));
    endings.push(() => proxy.stop());
    return proxy;
  }

  beforeEach(() => {
    prefixes++;
  });

  itDeep('tells a watch nothing twice on a member that was sent a snapshot', async () => {
    const leader = await cluster.leader();
    const follower = (leader + 1) % cluster.size;
    const writer = open({ endpoints: [cluster.endpoints[leader]!] });
    const reader = open({ endpoints: [cluster.endpoints[follower]!], livenessMs: 60_000 });
    const tail = follow(reader);
    await tail.reached(await writer.revision());
    for (let n = 0; n < 20; n++) {
      await create(writer, `kept/${n}`, {});
      const verdict = await create(writer, `gone/${n}`, {});
      const entry = await writer.get(`gone/${n}`);
      if (verdict.stored && entry) await remove(writer, entry);
    }
    await tail.reached(await writer.revision(), { progressWriter: writer });

    // On a slow machine the frozen member finds more of the log in its sockets, and needs no snapshot at first.
    const wasSentSnapshot = () =>
      readFileSync(cluster.logFile(follower), 'utf8').includes('received and saved database snapshot');
    for (let entries = 5_300; !wasSentSnapshot() && entries < 50_000; entries *= 2) {
      cluster.freeze(follower);
      await cluster.fillLog(entries, leader);
      cluster.thaw(follower);
      await cluster.untilServing(follower);
    }
    expect(wasSentSnapshot()).to.equal(true);
    const last = await create(writer, 'last', {});
    await tail.reached(last.stored ? last.revision : 0);

    expect(tail.disorder()).to.deep.equal([]);
    expect([...tail.keys].filter(key => key.startsWith('gone/'))).to.deep.equal([]);
  });

  itIsolates('goes on behind one address for all members when the member behind it is cut off', async () => {
    let member = await cluster.leader();
    const proxy = await balance(() => member);
    const store = open({ endpoints: [`https://127.0.0.1:${proxy.port}`] });
    await create(store, 'a', {});
    const isolated = member;
    cluster.network.isolate(isolated);
    member = (member + 1) % cluster.size;
    // Then it answers every call at once, with an error.
    await pollUntil('the member to know that it has no leader', 20_000, async () => {
      const { leaderId } = await cluster.status(isolated);
      return leaderId === '0' || undefined;
    });
    await cluster.untilServing(member); // the others may still be electing
    let answered = 0;
    for (let n = 0; n < 20; n++)
      await store.get('a').then(
        () => answered++,
        () => pause(100),
      );
    expect(answered).to.be.greaterThan(15);
  });

  it('gives every lease while one of three members is dead', async () => {
    await cluster.kill(await cluster.follower());
    const store = open();
    let failed = 0;
    for (let n = 0; n < 90; n++) await store.grant(30).catch(() => failed++);
    expect(failed).to.equal(0);
  });

  itIsolates('does not take a follower that is behind for another history', async () => {
    const leader = await cluster.leader();
    const follower = (leader + 1) % cluster.size;
    let member = leader;
    const proxy = await balance(() => member);
    const writer = open({ endpoints: [cluster.endpoints[leader]!] });
    const tail = follow(open({ endpoints: [`https://127.0.0.1:${proxy.port}`] }));
    await tail.reached(await writer.revision(), { progressWriter: writer });

    cluster.network.isolate(follower);
    for (let n = 0; n < 5; n++) await create(writer, `ahead/${n}`, {});
    await tail.reached(await writer.revision());
    member = follower;
    proxy.cut();
    await pause(1_500);
    cluster.network.heal(follower);
    const last = await create(writer, 'last', {});
    await tail.reached(last.stored ? last.revision : 0);

    expect(tail.resets).to.equal(1);
    expect(tail.disorder()).to.deep.equal([]);
  });

  it('reads certificate files again when they were replaced', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mooring-rotation-'));
    endings.push(async () => rmSync(folder, { recursive: true, force: true }));
    const authority = new CertificateFolder({ folder, authorityName: 'another authority', now: Date.now });
    const stranger = authority.ensure('stranger', [], ['client']);
    const [certFile, keyFile] = [join(folder, 'current.pem'), join(folder, 'current.key')];
    copyFileSync(stranger.cert, certFile);
    copyFileSync(stranger.key, keyFile);
    const store = openEtcdStore(
      {
        etcdEndpoints: [...cluster.endpoints],
        etcdPrefix: `/finding-${prefixes}/`,
        etcdCaFile: cluster.certificates.ca,
        etcdCertFile: certFile,
        etcdKeyFile: keyFile,
      },
      { clock: systemClock, random: systemRandom, log: silentLogger },
    );
    endings.push(() => store.close());
    const refused = await store.get('a').catch((thrown: unknown) => thrown);
    expect(refused, 'a certificate of a stranger').to.be.instanceOf(StoreUnavailableFault);
    copyFileSync(cluster.certificates.cert, certFile);
    copyFileSync(cluster.certificates.key, keyFile);
    await pollUntil('the new certificate to be shown', 10_000, async () => {
      const outcome = await store.get('a').catch((thrown: unknown) => thrown);
      return outcome instanceof Error ? undefined : true;
    });
  });

  it('gives up a change that has waited too long for those before it, while no member answers', async () => {
    const store = open({ callDeadlineMs: 1_000, settleWithinMs: 1_500 });
    await create(store, 'a', {});
    for (let member = 0; member < cluster.size; member++) cluster.freeze(member);
    const waits: Promise<unknown>[] = [];
    for (let n = 0; n < 30; n++) {
      // All change one key, so that each must wait for those before it.
      waits.push(create(store, 'contended', { n }).catch((thrown: unknown) => thrown));
      await pause(100);
    }
    const ends = await Promise.all(waits);
    expect(ends.filter(end => !(end instanceof Error))).to.deep.equal([]);
    const givenUp = ends.filter(end => end instanceof StoreUnavailableFault && /waited too long/.test(end.message));
    expect(givenUp.length).to.be.greaterThan(0);
  });
});

describe('quota of etcd', function () {
  this.timeout(120_000);
  const QUOTA_BYTES = 16 << 20;
  let cluster: EtcdCluster;
  let store: EtcdStore;

  beforeEach(async () => {
    cluster = await EtcdCluster.start({ members: 1, arguments: [`--quota-backend-bytes=${QUOTA_BYTES}`] });
    store = new EtcdStore({
      endpoints: cluster.endpoints,
      prefix: '/quota/',
      tls: readCertificates(cluster.certificates),
    });
  });
  afterEach(async () => {
    await store.close();
    await cluster.stop();
  });

  /** Frees what was overwritten, as an operator does. */
  async function recover(): Promise<void> {
    const { revision } = await cluster.status(0);
    await cluster.compact(revision);
    await cluster.defragment(0);
    await cluster.disarm();
  }

  it('stops changes that are written in groups', async () => {
    const text = 'x'.repeat(100 << 10);
    let fault: unknown;
    for (let n = 0; n < 400 && !fault; n++)
      await create(store, `large/${n}`, { text }).catch((thrown: unknown) => {
        fault = thrown;
      });
    expect(fault, 'the answer past the quota').to.be.instanceOf(StoreUnavailableFault);
    const { databaseBytes } = await cluster.status(0);
    expect(databaseBytes).to.be.lessThan(QUOTA_BYTES * 1.5);
  });

  it('is not reached by history: that is forgotten on a schedule', async () => {
    const stop = new AbortController();
    const options = { store, clock: systemClock, log: silentLogger, everyMs: 300, quotaBytes: QUOTA_BYTES };
    const compacting = [1, 2].map(() => compactPeriodically(options, stop.signal));
    await create(store, 'a', {});
    const early = await store.revision();
    await pollUntil('history to be forgotten', 30_000, async () => {
      const fault = await store.list('', early).catch((thrown: unknown) => thrown);
      return fault instanceof CompactedFault || undefined;
    });
    expect((await store.list('')).entries.map(({ key }) => key)).to.include('a');
    stop.abort();
    await Promise.all(compacting);
  });

  itDeep('lets keys be deleted under the alarm, and serves changes again after it', async () => {
    await create(store, 'a', {});
    expect((await store.health()).alarms).to.deep.equal([]);
    await cluster.fillDatabase(0);
    const { alarms, databaseBytes } = await store.health();
    expect(alarms).to.deep.equal(['NOSPACE']);
    expect(databaseBytes).to.be.greaterThan(QUOTA_BYTES / 2);
    const refused = await create(store, 'b', {}).catch((thrown: unknown) => thrown);
    expect(refused, 'a put under the alarm').to.be.instanceOf(StoreUnavailableFault);
    expect(await store.get('b')).to.equal(undefined);
    const entry = await store.get('a');
    expect((await remove(store, entry!)).stored, 'a delete under the alarm').to.equal(true);
    expect(await store.get('a')).to.equal(undefined);
    await recover();
    await pollUntil('changes to be stored again', 30_000, async () => {
      const verdict = await create(store, 'b', {}).catch(() => undefined);
      return verdict?.stored;
    });
  });
});
