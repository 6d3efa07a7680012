import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { DevelopmentAccess } from '../../pkg/bootstrap/index.js';
import { Client } from '../../pkg/client/index.js';
import { EtcdProcess, findFreePort } from '../../dev/processes/index.js';
import { toEnvironment } from '../../pkg/config/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { type EtcdStore, openEtcdStore } from '../../pkg/store/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { Child } from './child.js';
import { until } from '../../dev/testing/index.js';

/** A real control plane on loopback: etcd, an API server and the controllers, each a process of its own. */
export class ControlPlane {
  readonly folder: string;
  readonly server: string;
  /** Where the server may ask for images on loopback. Whoever needs a registry starts it there. */
  readonly registryPort: number;
  readonly etcd: EtcdProcess;
  readonly api: Child;
  readonly controllers: Child;
  #access: DevelopmentAccess | undefined;
  readonly #clients: Client[] = [];

  private constructor(
    folder: string,
    [port, registryPort]: readonly [number, number],
    etcd: EtcdProcess,
    settings: Readonly<Record<string, string>>,
  ) {
    this.folder = folder;
    this.server = `http://127.0.0.1:${port}`;
    this.registryPort = registryPort;
    this.etcd = etcd;
    const environment = {
      ...toEnvironment(etcd.access),
      MOORING_KEY_FILE: join(folder, 'keys'),
      MOORING_LISTEN: `127.0.0.1:${port}`,
      ...settings,
      MOORING_REGISTRY_INSECURE: [`127.0.0.1:${registryPort}`, settings['MOORING_REGISTRY_INSECURE'] ?? []]
        .flat()
        .join(),
    };
    const argv = ['--bootstrap-file', join(folder, 'access.json')];
    this.api = new Child('server', { argv, environment, logFile: join(folder, 'api.log') });
    this.controllers = new Child('controllers', { environment, logFile: join(folder, 'controllers.log') });
  }

  /** `settings` are environment variables that both processes get; insecure registries are added to its own. Where `isOpen`, etcd asks for no certificates. */
  static async start(
    settings: Readonly<Record<string, string>> = {},
    { isOpen = false, etcdPort = 0, etcdArguments = [] as readonly string[] } = {},
  ): Promise<ControlPlane> {
    const folder = await mkdtemp(join(tmpdir(), 'mooring-e2e-'));
    const certificates = isOpen ? {} : { certificates: join(folder, 'certificates') };
    const port = etcdPort === 0 ? {} : { clientPort: etcdPort };
    const options = { dataDir: join(folder, 'etcd'), arguments: etcdArguments, ...certificates, ...port };
    const etcd = await EtcdProcess.start(options);
    const plane = new ControlPlane(folder, [await findFreePort(), await findFreePort()], etcd, settings);
    try {
      plane.api.start();
      plane.controllers.start();
      await plane.serving();
      return plane;
    } catch (thrown) {
      await plane.stop(); // or its processes would outlive the test
      throw thrown;
    }
  }

  get access(): DevelopmentAccess {
    if (!this.#access) throw new Error('the control plane has not been serving yet');
    return this.#access;
  }

  /** Waits until the API server answers and its store is connected. */
  async serving(): Promise<void> {
    await until('the API server', async () => (await fetch(`${this.server}/readyz`)).ok);
    this.#access = JSON.parse(await readFile(join(this.folder, 'access.json'), 'utf8')) as DevelopmentAccess;
  }

  /** A client that speaks with this token, to the API server or to the proxy before it. */
  client(token: string, server = this.server): Client {
    const client = new Client({ server, token });
    this.#clients.push(client);
    return client;
  }

  /** The store, behind the API server's back. The caller closes it. */
  openStore(): EtcdStore {
    const env = { clock: systemClock, random: systemRandom, log: silentLogger };
    return openEtcdStore({ ...this.etcd.access, etcdPrefix: '/mooring/' }, env);
  }

  /** Every key in the store. */
  async storedKeys(): Promise<readonly string[]> {
    const store = this.openStore();
    try {
      return (await store.list('')).entries.map(({ key }) => key);
    } finally {
      await store.close();
    }
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.controllers.kill('SIGTERM');
    await this.api.kill('SIGTERM');
    await this.etcd.kill('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }
}
