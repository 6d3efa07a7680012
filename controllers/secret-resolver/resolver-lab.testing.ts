import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { EtcdProcess } from '../../dev/processes/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { EmbeddedSecretStore, SecretKeyring, toCredentialPath, toSecretDocument } from '../../pkg/secrets/index.js';
import { encode, EtcdStore, value, WatchCache } from '../../pkg/store/index.js';
import { createControllers } from '../index.js';
import { createSecretResolver } from './index.js';

const TENANT_ID = 'a2d1b2a0-0000-4000-8000-000000000001';

/** The secret resolver on a real etcd, with a number of credentials that replicas use in turn. */
export class ResolverLab {
  readonly store: EtcdStore;
  readonly cache: WatchCache;
  /** How often a stamp was seen, by the uid of the replica. */
  readonly stamps = new Map<string, number>();
  /** The credentials that stamps were made of. */
  readonly usedPaths = new Set<string>();
  readonly #folder: string;
  readonly #etcd: EtcdProcess;
  readonly #credentials: number;
  readonly #waiting = new Map<string, () => void>();
  readonly #stop = new AbortController();
  readonly #feed = new AbortController();
  #running: readonly Promise<void>[] = [];

  private constructor(folder: string, etcd: EtcdProcess, credentials: number) {
    this.#folder = folder;
    this.#etcd = etcd;
    this.#credentials = credentials;
    this.store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
    this.cache = new WatchCache({ store: this.store, clock: systemClock, log: silentLogger });
  }

  static async start(credentials: number): Promise<ResolverLab> {
    const folder = mkdtempSync(join(tmpdir(), 'mooring-resolver-'));
    const lab = new ResolverLab(folder, await EtcdProcess.start({ dataDir: join(folder, 'data') }), credentials);
    await lab.#begin();
    return lab;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running[1];
    this.#feed.abort();
    await this.#running[0];
    await this.store.close();
    await this.#etcd.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Stores a replica that is placed and waits for its secrets, and waits until its stamp is seen. */
  async stamp(uid: string, credential = 0): Promise<void> {
    const stamped = new Promise<void>(resolve => this.#waiting.set(uid, resolve));
    const key = keys.replica(TENANT_ID, uid, 0);
    const deployment = { metadata: { tenant: TENANT_ID, uid: `dep_${uid}` }, name: uid };
    await this.store.commit({
      guards: [{ key, at: 0 }],
      puts: [
        { key, bytes: encode(this.#replica(uid, credential)) },
        { key: keys.deployment(TENANT_ID, uid), bytes: encode(deployment) },
      ],
      deletes: [],
    });
    await stamped;
  }

  async #begin(): Promise<void> {
    const { store, cache } = this;
    const keyring = new SecretKeyring([systemRandom.bytes(32)]);
    const secrets = new EmbeddedSecretStore({ store, keyring, random: systemRandom, granted: ['deployments'] });
    const document = toSecretDocument({ user: 'app', password: 'x'.repeat(64) });
    for (let number = 0; number < this.#credentials; number++) {
      const path = toCredentialPath(TENANT_ID, `deployments/db-${number}`);
      await secrets.write(path, { document, after: 0, as: 'current' });
    }
    cache.subscribe(({ key, entry }) => {
      if (!key.startsWith(ranges.replicas) || !entry) return;
      const { uid, resolved } = value<Replica>(entry);
      if (!resolved) return;
      for (const path of Object.keys(resolved.versions)) this.usedPaths.add(path);
      this.stamps.set(uid, (this.stamps.get(uid) ?? 0) + 1);
      this.#waiting.get(uid)?.();
    });
    const controllers = createControllers({
      store,
      cache,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      loops: [createSecretResolver(secrets)],
      holder: 'lab',
      leaderLeaseSeconds: 9,
      eventRetentionDays: 1,
    });
    this.#running = [cache.run(this.#feed.signal), controllers.run(this.#stop.signal)];
    await this.stamp('warm-up');
  }

  /** Each is of a deployment of its own, so that none shares a look-up. */
  #replica(uid: string, credential: number): Replica {
    const label = `db-${credential % this.#credentials}`;
    return {
      uid,
      tenant: TENANT_ID,
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
  }
}
