import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { keys, ranges } from '../crds/keys/index.js';
import type { Replica } from '../crds/replica/index.js';
import { sleep, systemClock, systemRandom } from '../pkg/clock/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { EtcdProcess } from '../dev/processes/index.js';
import { toCredentialPath, toSecretDocument, EmbeddedSecretStore, SecretKeyring } from '../pkg/secrets/index.js';
import { create, encode, EtcdStore, value, WatchCache } from '../pkg/store/index.js';
import { createControllers } from './index.js';
import { secretResolver } from './secret-resolver/index.js';

const TENANT = 'a2d1b2a0-0000-4000-8000-000000000001';
const A_SECOND = 50;
const SECONDS = 5;
const LIMIT_MS = 100;
const ROUNDS = 3;
const CREDENTIALS = 20;
const AGAIN = 'run make test SUITES=etcd again when nothing else runs';

/** From the moment a placed replica is stored until its stamp is seen: queue, look-up, unsealing, transaction and watch. */
describe('the secret resolver, on a real etcd', function () {
  let folder: string;
  let etcd: EtcdProcess;
  let store: EtcdStore;
  let cache: WatchCache;
  const stop = new AbortController();
  const fed = new AbortController();
  const running: Promise<void>[] = [];
  /** Who waits for the stamp of a replica, by its uid. */
  const waiting = new Map<string, () => void>();
  /** The credentials that stamps were made of. */
  const used = new Set<string>();

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-resolver-'));
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
    const keyring = new SecretKeyring([systemRandom.bytes(32)]);
    const secrets = new EmbeddedSecretStore({ store, keyring, random: systemRandom, granted: ['deployments'] });
    const document = toSecretDocument({ user: 'app', password: 'x'.repeat(64) });
    for (let number = 0; number < CREDENTIALS; number++) {
      const path = toCredentialPath(TENANT, `deployments/db-${number}`);
      await secrets.write(path, { document, after: 0, as: 'current' });
    }
    const env = { store, clock: systemClock, random: systemRandom, log: silentLogger };
    cache = new WatchCache(env);
    cache.subscribe(({ key, entry }) => {
      if (!key.startsWith(ranges.replicas) || !entry) return;
      const { uid, resolved } = value<Replica>(entry);
      for (const path of Object.keys(resolved?.versions ?? {})) used.add(path);
      if (resolved) waiting.get(uid)?.();
    });
    const controllers = createControllers({
      ...env,
      cache,
      loops: [secretResolver(secrets)],
      holder: 'pace',
      leaderLeaseSeconds: 9,
      eventRetentionDays: 1,
    });
    running.push(cache.run(fed.signal), controllers.run(stop.signal));
    await stampingTakes(replica('warm-up'));
  });

  after(async () => {
    stop.abort();
    await running[1];
    fed.abort();
    await running[0];
    await store.close();
    await etcd.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** A replica that has a node and waits for its secrets. Each is of a deployment of its own, so that none shares a look-up. */
  const replica = (uid: string, credential = 0): Replica => {
    const label = `db-${credential % CREDENTIALS}`;
    return {
      uid,
      tenant: TENANT,
      deployment: uid,
      deploymentUid: `dep_${uid}`,
      slot: 0,
      generation: 1,
      templateHash: 'h',
      template: {
        image: 'web:1',
        secrets: [{ name: 'DB', vault_path: `deployments/${label}` }],
        composedSecrets: { URL: `pg://{{secret.${label}.user}}:{{secret.${label}.password}}@db` },
        secretsVersion: 0,
      },
      nodeId: 'node_1',
      createdAt: new Date(systemClock.now()).toISOString(),
    };
  };
  const stampingTakes = async (wanted: Replica): Promise<number> => {
    const begun = systemClock.monotonic();
    const stamped = new Promise<void>(resolve => waiting.set(wanted.uid, resolve));
    const key = keys.replica(TENANT, wanted.deployment, 0);
    const owner = keys.deployment(TENANT, wanted.deployment);
    await store.commit({
      guards: [{ key, at: 0 }],
      puts: [
        { key, bytes: encode(wanted) },
        {
          key: owner,
          bytes: encode({ metadata: { tenant: TENANT, uid: wanted.deploymentUid }, name: wanted.deployment }),
        },
      ],
      deletes: [],
    });
    await stamped;
    return systemClock.monotonic() - begun;
  };
  /** The same round trips without the loop: a write that somebody sees, two reads, a write. */
  const bareTakes = async (key: string): Promise<number> => {
    const begun = systemClock.monotonic();
    const verdict = await create(store, key, {});
    if (verdict.stored) await cache.reached(verdict.revision);
    await store.get(key);
    await store.get(key);
    await create(store, `${key}.stamp`, {});
    return systemClock.monotonic() - begun;
  };
  const round = async (number: number) => {
    const begun = systemClock.monotonic();
    const loop: Promise<number>[] = [];
    const bare: Promise<number>[] = [];
    for (let sent = 0; sent < A_SECOND * SECONDS; sent++) {
      await sleep(systemClock, Math.max(0, begun + (sent * 1_000) / A_SECOND - systemClock.monotonic()));
      loop.push(stampingTakes(replica(`r${number}-${sent}`, sent)));
      if (sent % 5 === 0) bare.push(bareTakes(`pace/${number}.${sent}`));
    }
    return { loop: inOrder(await Promise.all(loop)), bare: inOrder(await Promise.all(bare)) };
  };
  const inOrder = (times: readonly number[]) => times.toSorted((a, b) => a - b);
  const at = (share: number, times: readonly number[]) => times[Math.ceil(times.length * share) - 1]!;

  it(`resolves ${A_SECOND} a second, 99 of 100 within ${LIMIT_MS} ms`, async function () {
    let isBusy = false;
    // What else the machine does is not what is measured: one good round is enough.
    for (let number = 1; number <= ROUNDS; number++) {
      const { loop, bare } = await round(number);
      expect(used.size).to.equal(CREDENTIALS);
      const [p50, p99, bareP99] = [at(0.5, loop), at(0.99, loop), at(0.99, bare)];
      const figures = `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms; etcd alone p99 ${bareP99.toFixed(1)} ms`;
      console.log(`      ${A_SECOND} resolutions a second through the loop for ${SECONDS} s: ${figures}`);
      if (p99 < LIMIT_MS) return;
      isBusy ||= bareP99 > LIMIT_MS / 2;
    }
    if (!isBusy) expect.fail(`99 of 100 took longer than ${LIMIT_MS} ms, on a machine that has the time`);
    this.test!.title += ` skipped: the machine is busy (etcd alone takes over ${LIMIT_MS / 2} ms); ${AGAIN}`;
    this.skip();
  });
});
