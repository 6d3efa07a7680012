import { ConstantBackoff } from 'cockatiel';
import { Etcd3, type Watcher } from 'etcd3';

/** etcd3's own watcher, to show what becomes of it under the same fault. */
export class CarelessWatch {
  readonly keys = new Set<string>();
  failed = false;
  readonly #client: Etcd3;
  readonly #watcher: Watcher;

  private constructor(client: Etcd3, watcher: Watcher, prefix: string) {
    this.#client = client;
    this.#watcher = watcher;
    watcher.on('put', ({ key }) => this.keys.add(key.toString().slice(prefix.length)));
    watcher.on('error', () => {
      this.failed = true;
    });
  }

  static async start(endpoint: string, prefix: string): Promise<CarelessWatch> {
    const client = new Etcd3({ hosts: endpoint, faultHandling: { watchBackoff: new ConstantBackoff(50).next() } });
    return new CarelessWatch(client, await client.watch().prefix(prefix).create(), prefix);
  }

  async stop(): Promise<void> {
    await this.#watcher.cancel().catch(() => undefined);
    this.#client.close();
  }
}
