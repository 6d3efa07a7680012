import { randomBytes } from 'node:crypto';

import { failpoint } from '../../../failpoint/index.js';
import { type ContainerSpec, EngineRefusedFault, NameConflictFault, type NetworkSpec } from '../engine.js';
import type { DockerApi } from './docker-api.js';
import { NODE_LABEL, readOwner, TENANT_LABEL } from '../ownership-labels.js';
import { type ContainerInspection, hasNamedNetworks } from './docker-container.js';
import { INTERNAL_BRIDGE_PREFIX } from './internal-bridges.js';
import { BRIDGE_PREFIX } from './link-local.js';

const BRIDGE_NAME = 'com.docker.network.bridge.name';
/** On the networks that tenants have asked for: which one it is. */
const NETWORK_LABEL = 'mooring.io/network';

/** An interface has a name of at most 15 characters. */
const BRIDGE_LENGTH = 15;

interface Network {
  readonly Id: string;
  readonly Options: Readonly<Record<string, string>> | null;
  readonly Name: string;
  readonly Created: string;
  readonly Internal?: boolean;
  readonly Labels: Readonly<Record<string, string>> | null;
}

/** What the engine is asked to create. */
interface NetworkOrder {
  readonly name: string;
  readonly internal: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** The labels by which a network is known to be this one. */
  readonly ownLabels: Readonly<Record<string, string>>;
}

/** The interface of a network, and whether it is to lead nowhere. */
export interface Bridge {
  readonly name: string;
  readonly internal: boolean;
}

/** The bridge networks of the engine: each tenant's own, created when it is first needed, and those that tenants ask for. */
export class DockerNetworks {
  readonly #api: DockerApi;
  readonly #onBridge: (bridge: Bridge) => Promise<void>;
  readonly #ensured = new Map<string, Promise<void>>();
  /** What is being made sure of right now. */
  readonly #ensuring = new Map<string, Promise<void>>();

  /** `onBridge` is called with the interface of each network before a container is attached to it. */
  constructor(api: DockerApi, onBridge: (bridge: Bridge) => Promise<void>) {
    this.#api = api;
    this.#onBridge = onBridge;
  }

  /** Makes sure that a tenant's own network exists, and remembers that it does. */
  ensureTenant(name: string, tenant: string): Promise<void> {
    const known = this.#ensured.get(name);
    if (known) return known;

    const labels = { [TENANT_LABEL]: tenant };
    const ensured = this.#ensure({ name, internal: false, labels, ownLabels: labels });
    this.#ensured.set(name, ensured);
    ensured.catch(() => this.#ensured.delete(name));
    return ensured;
  }

  /** Called when networks may have been deleted: they are checked again on next use. */
  forget(): void {
    this.#ensured.clear();
  }

  /** Makes sure that a network exists that a tenant has asked for. */
  ensure({ name, network, tenant, nodeId, labels, internal }: NetworkSpec): Promise<void> {
    const ownLabels = { [TENANT_LABEL]: tenant, [NODE_LABEL]: nodeId, [NETWORK_LABEL]: network };
    return this.#ensure({ name, internal, labels: { ...labels, ...ownLabels }, ownLabels });
  }

  /** Removes the networks of a node that are not kept. Answers how many a container still holds. */
  async removeOthers(nodeId: string, isKept: (name: string) => boolean): Promise<number> {
    let held = 0;
    for (const { Id, Name } of await this.#list({ label: [`${NODE_LABEL}=${nodeId}`, NETWORK_LABEL] })) {
      if (isKept(Name)) continue;
      const { status } = await this.#api.call('DELETE', `/networks/${Id}`, { expected: [403, 404, 409] });
      if (status === 403 || status === 409) held++;
      else failpoint('agent.network_removed');
    }
    return held;
  }

  /** Ids of the nodes whose networks for this tenant are on the engine. */
  async listNodeIds(tenant: string): Promise<readonly string[]> {
    const found = await this.#list({ label: [`${TENANT_LABEL}=${tenant}`, NETWORK_LABEL] });
    return found.flatMap(({ Labels }) => Labels?.[NODE_LABEL] ?? []);
  }

  /** Attaches a container to networks. One that is attached already stays so. */
  async join(container: string, networks: readonly string[], alias: string): Promise<void> {
    for (const name of networks) {
      const body = { Container: container, EndpointConfig: { Aliases: [alias] } };
      const path = `/networks/${name}/connect`;
      const answer = await this.#api.call<{ readonly message?: string }>('POST', path, { body, expected: [403] });
      const { message = '' } = answer.status === 403 ? answer.body : {};
      if (answer.status === 403 && !/already exists|already attached/.test(message)) {
        throw new EngineRefusedFault(answer.status, message);
      }
    }
  }

  /** Attaches a container to all but the first of its networks, on which it was created. Answers its id. */
  async joinFurther(container: string, { networks = [], alias }: ContainerSpec): Promise<string> {
    await this.join(container, networks.slice(1), alias);
    return container;
  }

  /**
   * Starts a stopped container on the networks that have its networks' names now: the engine knows them by their ids. It is taken off
   * the former ones only where the engine does not do without: cut short after that, it would start with no network at all.
   */
  async reattach(container: ContainerInspection, start: () => Promise<unknown>): Promise<void> {
    const { Id, Config, NetworkSettings } = container;
    const owner = readOwner(Config.Labels);
    const networks = Object.keys(NetworkSettings?.Networks ?? {});
    if (!owner || networks.length === 0) return void (await start());
    if (!hasNamedNetworks(container)) await this.ensureTenant(networks[0]!, owner.tenant);
    try {
      await this.join(Id, networks, owner.deployment);
      await start();
    } catch (thrown) {
      if (!isNetworkRefused(thrown)) throw thrown;
      for (const name of networks) {
        const body = { Container: Id, Force: true };
        await this.#api.call('POST', `/networks/${name}/disconnect`, { body, expected: [403, 404] });
      }
      await this.join(Id, networks, owner.deployment);
      await start();
    }
  }

  /** Several at once for one name, as the replicas of a deployment ask, are one: an engine before 25 would create it for each. */
  #ensure(order: NetworkOrder): Promise<void> {
    const { name } = order;
    const running = this.#ensuring.get(name) ?? this.#ensureAlone(order).finally(() => this.#ensuring.delete(name));
    this.#ensuring.set(name, running);
    return running;
  }

  async #ensureAlone({ name, internal, labels, ownLabels }: NetworkOrder): Promise<void> {
    if ((await this.#named(name)).length === 0) {
      await this.#api.call('POST', '/networks/create', {
        body: {
          Name: name,
          Driver: 'bridge',
          CheckDuplicate: true,
          Internal: internal,
          Labels: labels,
          Options: { [BRIDGE_NAME]: nameBridge(internal) },
        },
        expected: [409],
      });
      failpoint('agent.network_created');
    }
    const isOwn = ({ Labels, Internal = false }: Network) =>
      Internal === internal && Object.entries(ownLabels).every(([key, value]) => Labels?.[key] === value);
    const twins = await this.#named(name);
    const [oldest] = twins;
    if (!oldest || !twins.every(isOwn)) throw new NameConflictFault(name, 'network');
    const { Id, Options } = await this.#keepOne(oldest, twins.slice(1));
    await this.#onBridge({ name: Options?.[BRIDGE_NAME] ?? `br-${Id.slice(0, 12)}`, internal });
  }

  /**
   * Engines before 25 let two agents create the same name at the same moment, and refuse that name from then on. All agents keep
   * the oldest, but for one that a container was attached to before the oldest was seen: that cannot be removed.
   */
  async #keepOne(oldest: Network, twins: readonly Network[]): Promise<Network> {
    const remove = ({ Id }: Network) => this.#api.call('DELETE', `/networks/${Id}`, { expected: [403, 404, 409] });
    let kept = oldest;
    for (const twin of twins) {
      const { status } = await remove(twin);
      if (status === 403 && (await remove(kept)).status !== 403) kept = twin;
    }
    return kept;
  }

  async #named(name: string): Promise<readonly Network[]> {
    const found = (await this.#list({ name: [name] })).filter(({ Name }) => Name === name);
    return found.toSorted((a, b) => a.Created.localeCompare(b.Created) || a.Id.localeCompare(b.Id));
  }

  async #list(filters: Readonly<Record<string, readonly string[]>>): Promise<readonly Network[]> {
    const query = { filters: JSON.stringify(filters) };
    return (await this.#api.call<readonly Network[]>('GET', '/networks', { query })).body;
  }
}

/** Whether the engine refuses to start or to attach a container because of one of its networks, and not because of itself. */
export function isNetworkRefused(thrown: unknown): boolean {
  return thrown instanceof EngineRefusedFault && /network .* (?:not found|ambiguous)/.test(thrown.message);
}

function nameBridge(internal: boolean): string {
  const prefix = internal ? INTERNAL_BRIDGE_PREFIX : BRIDGE_PREFIX;
  return `${prefix}${randomBytes(5).toString('hex')}`.slice(0, BRIDGE_LENGTH);
}
