import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { EtcdProcess, TcpProxy } from '../../../dev/processes/index.js';
import { EtcdStore, type EtcdStoreOptions } from './etcd-store.js';

/** A real etcd with a proxy before it that can fail, and stores that reach it either way. */
export class EtcdLab {
  readonly etcd: EtcdProcess;
  readonly proxy: TcpProxy;
  readonly #folder: string;
  readonly #stores: EtcdStore[] = [];
  #prefixes = 0;
  #prefix = '';

  private constructor(folder: string, etcd: EtcdProcess, proxy: TcpProxy) {
    this.#folder = folder;
    this.etcd = etcd;
    this.proxy = proxy;
    this.fresh();
  }

  static async start(): Promise<EtcdLab> {
    const folder = mkdtempSync(join(tmpdir(), 'mooring-etcd-'));
    const etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    return new EtcdLab(folder, etcd, await TcpProxy.start(etcd.port));
  }

  /** Stores opened from now on share a root that is empty. */
  fresh(): void {
    this.#prefix = `/test-${++this.#prefixes}/`;
  }

  get dataDir(): string {
    return join(this.#folder, 'data');
  }

  get prefix(): string {
    return this.#prefix;
  }

  /** A store that goes straight to etcd. */
  direct(options: Partial<EtcdStoreOptions> = {}): EtcdStore {
    return this.#open(this.etcd.endpoint, options);
  }

  /** A store that goes through the proxy. */
  proxied(options: Partial<EtcdStoreOptions> = {}): EtcdStore {
    return this.#open(this.proxy.endpoint, options);
  }

  /** Closes all stores and mends the proxy, so that the next test begins in peace. */
  async settle(): Promise<void> {
    await Promise.all(this.#stores.splice(0).map(store => store.close()));
    this.proxy.onServerData = undefined;
    this.proxy.mode = 'pass';
    this.proxy.cut();
    this.fresh();
  }

  /** Forgets history up to `revision`, as an operator's compaction does. */
  async compact(revision: number): Promise<void> {
    const answer = await fetch(`${this.etcd.endpoint}/v3/kv/compaction`, {
      method: 'POST',
      body: JSON.stringify({ revision: String(revision), physical: true }),
    });
    if (!answer.ok) throw new Error(`compaction answered ${answer.status}`);
  }

  async stop(): Promise<void> {
    await this.settle();
    await this.proxy.stop();
    await this.etcd.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #open(endpoint: string, options: Partial<EtcdStoreOptions>): EtcdStore {
    const store = new EtcdStore({ endpoints: [endpoint], prefix: this.#prefix, ...options });
    this.#stores.push(store);
    return store;
  }
}
