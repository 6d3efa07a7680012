import { type ContainerStatus, EngineRefusedFault, type NetworkSpec } from './engine.js';

/** The networks of an engine in memory, and which containers are on them. */
export class SimulatedNetworks {
  readonly #networks = new Map<string, { readonly spec: NetworkSpec; readonly members: Set<string> }>();
  /** The networks that each container was created for. */
  readonly #wanted = new Map<string, readonly string[]>();

  get specs(): readonly NetworkSpec[] {
    return [...this.#networks.values()].map(({ spec }) => spec);
  }

  /** Ids of the containers on a network. */
  membersOf(name: string): readonly string[] {
    return [...(this.#networks.get(name)?.members ?? [])];
  }

  /** Removes a network behind the agent's back, as a person on the machine can. */
  drop(name: string): void {
    this.#networks.delete(name);
  }

  ensure(spec: NetworkSpec): void {
    if (!this.#networks.has(spec.name)) this.#networks.set(spec.name, { spec, members: new Set() });
  }

  removeOthers(nodeId: string, isKept: (name: string) => boolean): number {
    let held = 0;
    for (const [name, { spec, members }] of this.#networks) {
      if (spec.nodeId !== nodeId || isKept(name)) continue;
      if (members.size > 0) held++;
      else this.#networks.delete(name);
    }
    return held;
  }

  /** Notes what a new container is to be on, and attaches it. */
  attach(container: string, networks: readonly string[] = []): void {
    this.demand(networks);
    if (networks.length > 0) this.#wanted.set(container, networks);
    this.join(container, networks);
  }

  join(container: string, networks: readonly string[]): void {
    this.demand(networks);
    for (const name of networks) this.#networks.get(name)?.members.add(container);
  }

  /** Throws as an engine does, when one of the networks is not there. */
  demand(networks: readonly string[] = []): void {
    const missing = networks.find(name => !this.#networks.has(name));
    if (missing !== undefined) throw new EngineRefusedFault(404, `network ${missing} not found`);
  }

  leave(container: string): void {
    this.#wanted.delete(container);
    for (const { members } of this.#networks.values()) members.delete(container);
  }

  /** The status of a container, with the networks that it is not on. */
  complete<Status extends ContainerStatus | undefined>(status: Status): Status {
    const wanted = status && this.#wanted.get(status.id);
    if (!wanted) return status;
    const lacksNetworks = wanted.filter(name => !this.#networks.get(name)?.members.has(status.id));
    return lacksNetworks.length > 0 ? { ...status, lacksNetworks } : status;
  }
}
