import { randomBytes } from 'node:crypto';

import { NameConflictFault } from '../engine.js';
import type { DockerApi } from './docker-api.js';
import { TENANT_LABEL } from './docker-container.js';
import { BRIDGE_PREFIX } from './link-local.js';

const BRIDGE_NAME = 'com.docker.network.bridge.name';

interface Network {
  readonly Id: string;
  readonly Options: Readonly<Record<string, string>> | null;
  readonly Name: string;
  readonly Created: string;
  readonly Labels: Readonly<Record<string, string>> | null;
}

/** Creates each tenant's bridge network when it is first needed, and remembers that it exists. */
export class TenantNetworks {
  readonly #api: DockerApi;
  readonly #onBridge: (bridge: string) => Promise<void>;
  readonly #ensured = new Map<string, Promise<void>>();

  /** `onBridge` is called with the interface of each network before a container is attached to it. */
  constructor(api: DockerApi, onBridge: (bridge: string) => Promise<void>) {
    this.#api = api;
    this.#onBridge = onBridge;
  }

  ensure(name: string, tenant: string): Promise<void> {
    const known = this.#ensured.get(name);
    if (known) return known;

    const ensured = this.#ensure(name, tenant);
    this.#ensured.set(name, ensured);
    ensured.catch(() => this.#ensured.delete(name));
    return ensured;
  }

  /** Called when networks may have been deleted: they are checked again on next use. */
  forget(): void {
    this.#ensured.clear();
  }

  async #ensure(name: string, tenant: string): Promise<void> {
    if ((await this.#named(name)).length === 0) {
      await this.#api.call('POST', '/networks/create', {
        body: {
          Name: name,
          Driver: 'bridge',
          CheckDuplicate: true,
          Labels: { [TENANT_LABEL]: tenant },
          Options: { [BRIDGE_NAME]: `${BRIDGE_PREFIX}${randomBytes(5).toString('hex')}` },
        },
        expected: [409],
      });
    }
    const [oldest, ...twins] = await this.#named(name);
    if (oldest?.Labels?.[TENANT_LABEL] !== tenant) throw new NameConflictFault(name);
    await this.#onBridge(oldest.Options?.[BRIDGE_NAME] ?? `br-${oldest.Id.slice(0, 12)}`);
    // Engines before 25 let two agents create the same name at the same moment. All agents keep the oldest.
    for (const { Id } of twins) await this.#api.call('DELETE', `/networks/${Id}`, { expected: [403, 404, 409] });
  }

  async #named(name: string): Promise<readonly Network[]> {
    const filters = JSON.stringify({ name: [name] });
    const { body } = await this.#api.call<readonly Network[]>('GET', '/networks', { query: { filters } });
    return body
      .filter(({ Name }) => Name === name)
      .toSorted((a, b) => a.Created.localeCompare(b.Created) || a.Id.localeCompare(b.Id));
  }
}
