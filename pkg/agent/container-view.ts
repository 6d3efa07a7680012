import type { Engine, ContainerStatus } from './engine/index.js';

/**
 * The containers of this node as last seen, by replica.
 *
 * A list takes time, and what the agent did meanwhile is newer than what the list says: each entry remembers when it was
 * last set, and a list never overrules what was set after it had been asked for.
 */
export class ContainerView {
  readonly #engine: Engine;
  readonly #nodeId: string;
  readonly #seen = new Map<string, ContainerStatus>();
  readonly #setAt = new Map<string, number>();
  readonly #doubtful = new Set<string>();
  readonly #stirred = new Set<string>();
  #listed = false;
  #steps = 0;

  constructor(engine: Engine, nodeId: string) {
    this.#engine = engine;
    this.#nodeId = nodeId;
  }

  /** Whether the engine's containers have been listed at all: until then nothing is known. */
  get isListed(): boolean {
    return this.#listed;
  }

  get containers(): readonly ContainerStatus[] {
    return [...this.#seen.values()];
  }

  get uids(): readonly string[] {
    return [...this.#seen.keys()];
  }

  get(uid: string): ContainerStatus | undefined {
    return this.#seen.get(uid);
  }

  /** An event came in: look again before the next decision. */
  markChanged(uid: string): void {
    this.#stirred.add(uid);
  }

  /** A call broke off: whether it had its effect is not known. */
  markUncertain(uid: string): void {
    this.#doubtful.add(uid);
  }

  /** What the agent itself has just done or seen. */
  set(uid: string, container: ContainerStatus | undefined): void {
    this.#steps++;
    this.#setAt.set(uid, this.#steps);
    if (container) this.#seen.set(uid, container);
    else this.#seen.delete(uid);
  }

  /** Makes sure that what is known of one replica is as fresh as the events and doubts about it demand. */
  async refresh(uid: string): Promise<void> {
    if (this.#doubtful.has(uid)) await this.relist();
    if (!this.#stirred.delete(uid)) return;

    const { id } = this.#seen.get(uid) ?? {};
    if (id === undefined) return; // the next list shows what nobody here has made
    try {
      await this.inspect(uid, id);
    } catch (thrown) {
      this.#stirred.add(uid);
      throw thrown;
    }
  }

  /** Looks at one container now. */
  async inspect(uid: string, id: string): Promise<ContainerStatus | undefined> {
    const container = await this.#engine.inspect(id);
    this.set(uid, container);
    return container;
  }

  /** Looks at all containers now. */
  async relist(): Promise<void> {
    const asked = this.#steps;
    const doubts = [...this.#doubtful];
    const listed = new Map((await this.#engine.list(this.#nodeId)).map(seen => [seen.owner.replica, seen]));

    for (const uid of new Set([...this.#seen.keys(), ...listed.keys()])) {
      if ((this.#setAt.get(uid) ?? 0) > asked) continue;
      const container = listed.get(uid);
      if (container) this.#seen.set(uid, container);
      else this.#seen.delete(uid);
    }
    for (const uid of doubts) this.#doubtful.delete(uid);
    this.#listed = true;
  }

  /** Nothing will be asked about this replica again. */
  forget(uid: string): void {
    this.#setAt.delete(uid);
    this.#doubtful.delete(uid);
    this.#stirred.delete(uid);
  }
}
