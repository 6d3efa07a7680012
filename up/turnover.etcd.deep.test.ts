import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { createControllers } from '../controllers/index.js';
import { createJanitor } from '../controllers/janitor/index.js';
import { cacheScope, keys, ranges } from '../crds/keys/index.js';
import { EtcdProcess, findFreePort } from '../dev/processes/index.js';
import { until } from '../dev/testing/index.js';
import { SimulatedEngine } from '../pkg/agent/index.js';
import { Client } from '../pkg/client/index.js';
import { systemClock, systemRandom } from '../pkg/clock/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { EmbeddedSecretStore, SecretKeyring } from '../pkg/secrets/index.js';
import { EtcdStore, WatchCache } from '../pkg/store/index.js';
import { type InMemoryMooring, startInMemory } from './in-memory.js';

const LIMITS = { eventsPerTenant: 40, archivesOfDeleted: 20 };
/** Names of deployments: enough that the limits are reached by the first. */
const FEW = Array.from({ length: 40 }, (_, at) => `few-${at}`);
const MANY = Array.from({ length: 200 }, (_, at) => `many-${at}`);
const AT_ONCE = 24;
/** Keys that a barrier or a lease may still leave in the index of etcd. */
const STILL_INDEXED = 8;

describe('deployments that come and go', () => {
  const env = { clock: systemClock, random: systemRandom, log: silentLogger };
  let folder: string;
  let etcd: EtcdProcess;
  let store: EtcdStore;
  let mooring: InMemoryMooring;
  let client: Client;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'moor-turnover-'));
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
    const port = await findFreePort();
    const engine = new SimulatedEngine(env);
    mooring = await startInMemory({ ...env, engine, folder, nodes: 1, port, store });
    client = new Client({ server: mooring.url, token: mooring.access.tenantToken });
  });

  after(async () => {
    client?.close();
    await mooring?.stop();
    await store?.close();
    await etcd?.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });

  const path = '/api/v1/deployments';
  /** Repeats what a busy machine did not take. Then `taken` is its answer to what it had taken after all. */
  const ask = async (taken: number, ...[method, at, body]: readonly ['POST' | 'PUT' | 'DELETE', string, object?]) => {
    let tries = 0;
    const answer = await until(`an answer to ${method} ${at}`, async () => {
      tries++;
      const each = await client.request(method, at, body && { body });
      return each.status !== 429 && each.status !== 503 && each;
    });
    const isTaken = answer.ok || (tries > 1 && answer.status === taken);
    expect(isTaken, `${method} ${at} was answered with ${answer.ok ? '' : answer.rejections[0]?.code}`).to.equal(true);
  };
  const turnOver = async (name: string) => {
    const body = { kind: 'Deployment', name, image: 'registry.example.com/web:1', replicas: 1 };
    await ask(409, 'POST', path, body);
    await ask(200, 'PUT', `${path}/${name}`, { ...body, environment: { ROUND: '2' } });
    await ask(404, 'DELETE', `${path}/${name}`);
    await until(`${name} to be gone`, async () => (await client.request('GET', `${path}/${name}`)).status === 404);
  };
  const turnOverAll = async (names: readonly string[]) => {
    const waiting = [...names];
    const work = async () => {
      for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) await turnOver(name);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  };
  const listKeys = async (range: string) => (await store.list(range)).entries.map(({ key }) => key);

  /** Has the janitor look at the history at once, with small limits. */
  const runJanitor = async () => {
    const cache = new WatchCache({ ...env, store, ...cacheScope });
    const keyring = new SecretKeyring([Buffer.alloc(32, 1)]);
    const secrets = new EmbeddedSecretStore({ store, keyring, random: systemRandom, granted: [] });
    const loops = [{ ...createJanitor(secrets, LIMITS), name: 'small-janitor' }];
    const lease = { holder: 'test', leaderLeaseSeconds: 9, eventRetentionDays: 1 };
    const controllers = createControllers({ ...env, ...lease, store, cache, loops });
    const [working, feeding] = [new AbortController(), new AbortController()];
    const ended = [cache.run(feeding.signal), controllers.run(working.signal)];
    try {
      await until('the history to be bounded', async () => {
        const [events, archives] = [await listKeys(ranges.events), await listKeys(ranges.archives)];
        return events.length <= LIMITS.eventsPerTenant && archives.length <= LIMITS.archivesOfDeleted;
      });
    } finally {
      working.abort();
      await ended[1];
      feeding.abort();
      await ended[0];
    }
  };

  /** How many keys of each range are there for good: one with a lease goes by itself, and a barrier is one key at most. */
  const countLasting = () => {
    const words = ['--endpoints', etcd.endpoint, 'get', '--prefix', '/mooring/', '--keys-only', '-w', 'json'];
    const answer = execFileSync('etcdctl', words, { env: { ...process.env, ETCDCTL_API: '3' }, encoding: 'utf8' });
    const { kvs } = JSON.parse(answer) as { kvs: readonly { readonly key: string; readonly lease?: number }[] };
    const counts: Record<string, number> = {};
    for (const { key, lease } of kvs) {
      const [, , range = ''] = Buffer.from(key, 'base64').toString().split('/');
      if (!lease && range !== keys.barrier()) counts[range] = (counts[range] ?? 0) + 1;
    }
    return counts;
  };

  /** What etcd still holds in its index, deleted keys included until they are compacted. */
  const countIndexed = async () => {
    await store.compact(await store.revision());
    const live = await store.list('');
    return until('etcd to have compacted', async () => {
      const metrics = await (await fetch(`${etcd.endpoint}/metrics`)).text();
      const indexed = Number(/^etcd_debugging_mvcc_keys_total (\S+)/m.exec(metrics)?.[1]);
      return indexed <= live.entries.length + STILL_INDEXED ? indexed : undefined;
    });
  };

  it('leave as many keys in etcd whether they were few or many', async () => {
    await turnOverAll(FEW);
    await runJanitor();
    const { 'former-deployments': few, ...before } = countLasting();
    await turnOverAll(MANY);
    await runJanitor();

    const { 'former-deployments': many, ...after } = countLasting();
    expect(after).to.deep.equal(before);
    // Each of them finds one archive entry at least; how many share the last entries depends on their order.
    for (const names of [few, many]) expect(names).to.be.within(1, LIMITS.archivesOfDeleted);
    expect(before).to.include({ archives: LIMITS.archivesOfDeleted });
    for (const range of [ranges.deployments, ranges.statuses, ranges.replicas, ranges.reports, ranges.intents])
      expect(await listKeys(range), range).to.deep.equal([]);
    await countIndexed();
  });
});
