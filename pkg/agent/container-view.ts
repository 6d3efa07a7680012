import type { Replica } from '../../crds/replica/index.js';
import type { Engine, ContainerStatus } from './engine/index.js';

/**
 * The containers of this node as last observed, by replica.
 *
 * A list takes time, and what the agent does meanwhile is newer than the list. Each entry remembers when it was set, and
 * a list never overwrites an entry that was set after the list was requested.
 */
export class ContainerView {
  readonly #engine: Engine;
  readonly #nodeId: string;
  readonly #seen = new Map<string, ContainerStatus>();
  readonly #setAt = new Map<string, number>();
  readonly #uncertain = new Set<string>();
  readonly #changed = new Set<string>();
  #listed = false;
  #steps = 0;

  constructor(engine: Engine, nodeId: string) {
    this.#engine = engine;
    this.#nodeId = nodeId;
  }

  /** Whether the containers have been listed once. Until then nothing is known. */
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

  /** Whether the slot of a replica has another container than its own: after a restore it may, but never two at once. */
  hasOtherOf(replica: Pick<Replica, 'uid' | 'deploymentUid' | 'slot'> | undefined): boolean {
    if (!replica) return false;
    const { uid, deploymentUid, slot } = replica;
    const isOther = ({ owner }: ContainerStatus) => owner.replica !== uid && owner.deploymentUid === deploymentUid;
    return this.containers.some(container => isOther(container) && container.owner.slot === slot);
  }

  /** Called for an engine event: the container is inspected before the next decision. */
  markChanged(uid: string): void {
    this.#changed.add(uid);
  }

  /** Called after a failed call: whether it took effect is unknown, so the containers are listed again. */
  markUncertain(uid: string): void {
    this.#uncertain.add(uid);
  }

  /** Whether a call failed of which it is not known yet whether it took effect. */
  isUncertain(uid: string): boolean {
    return this.#uncertain.has(uid);
  }

  /** Records what the agent has just done or inspected. */
  set(uid: string, container: ContainerStatus | undefined): void {
    this.#steps++;
    this.#setAt.set(uid, this.#steps);
    this.#put(uid, container);
  }

  #put(uid: string, container: ContainerStatus | undefined): void {
    if (container) this.#seen.set(uid, container);
    else this.#seen.delete(uid);
  }

  /** Lists or inspects again when an event or a failed call made the entry stale. */
  async refresh(uid: string): Promise<void> {
    if (this.#uncertain.has(uid)) await this.relist();
    if (!this.#changed.delete(uid)) return;

    const { id } = this.#seen.get(uid) ?? {};
    if (id === undefined) return; // the next list shows containers that this agent did not create
    try {
      await this.inspect(uid, id);
    } catch (thrown) {
      this.#changed.add(uid);
      throw thrown;
    }
  }

  async inspect(uid: string, id: string): Promise<void> {
    this.set(uid, await this.#engine.inspect(id));
  }

  async relist(): Promise<void> {
    const requestedAt = this.#steps;
    const uncertain = [...this.#uncertain];
    const listed = new Map((await this.#engine.list(this.#nodeId)).map(seen => [seen.owner.replica, seen]));

    for (const uid of new Set([...this.#seen.keys(), ...listed.keys()])) {
      if ((this.#setAt.get(uid) ?? 0) <= requestedAt) this.#put(uid, listed.get(uid));
    }
    for (const uid of uncertain) this.#uncertain.delete(uid);
    this.#listed = true;
  }

  forget(uid: string): void {
    this.#setAt.delete(uid);
    this.#uncertain.delete(uid);
    this.#changed.delete(uid);
  }
}
