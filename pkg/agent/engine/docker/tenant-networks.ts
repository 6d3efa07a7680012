import { NameConflictFault } from '../engine.js';
import type { DockerApi } from './docker-api.js';
import { TENANT_LABEL } from './docker-container.js';

interface Network {
  readonly Id: string;
  readonly Name: string;
  readonly Created: string;
  readonly Labels: Readonly<Record<string, string>> | null;
}

/** Creates each tenant's bridge network when it is first needed, and remembers that it exists. */
export class TenantNetworks {
  readonly #api: DockerApi;
  readonly #ensured = new Map<string, Promise<void>>();

  constructor(api: DockerApi) {
    this.#api = api;
  }

  /** Resolves when the network exists. */
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
        body: { Name: name, Driver: 'bridge', CheckDuplicate: true, Labels: { [TENANT_LABEL]: tenant } },
        expected: [409],
      });
    }
    const [oldest, ...twins] = await this.#named(name);
    if (oldest?.Labels?.[TENANT_LABEL] !== tenant) throw new NameConflictFault(name);
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
