import type { Replica } from '../../crds/replica/index.js';

/**
 * What is wanted of a replica: that it runs, that it retires, or nothing because it is no longer assigned here.
 * `unknown` until the control plane has spoken, and `outdated` when it asks for less than it has asked for before.
 */
export type DesiredState = 'run' | 'retire' | 'nothing' | 'unknown' | 'outdated';

/** One place of a deployment, and the generation that fills it. */
type Slot = Pick<Replica, 'deploymentUid' | 'slot' | 'generation'>;

const placeOf = ({ deploymentUid, slot }: Slot): string => `${deploymentUid}/${slot}`;

/**
 * What the control plane wants of this node, as last told.
 *
 * It only moves forward: a replica that was told to retire stays retired, and of one slot nothing older is accepted than
 * what has been seen, so that a control plane restored from an old backup cannot turn the node back.
 */
export class Assignments {
  #wanted = new Map<string, Replica>();
  #tickets = new Map<string, string>();
  #newest = new Map<string, number>();
  #told = false;

  get uids(): readonly string[] {
    return [...this.#wanted.keys()];
  }

  get(uid: string): Replica | undefined {
    return this.#wanted.get(uid);
  }

  /** Replaces everything. */
  replaceAll(replicas: readonly Replica[], tickets: Readonly<Record<string, string>> = {}): void {
    const before = this.#wanted;
    this.#tickets = new Map(Object.entries(tickets));
    this.#wanted = new Map();
    this.#told = true;
    for (const replica of replicas) this.#put(replica, before.get(replica.uid));
  }

  set(replica: Replica, ticket?: string): void {
    this.#put(replica, this.#wanted.get(replica.uid));
    if (ticket !== undefined) this.#tickets.set(replica.uid, ticket);
  }

  /** The ticket for the replica's secrets, if one is at hand. It is good once, so it is gone from here. */
  takeTicket(uid: string): string | undefined {
    const ticket = this.#tickets.get(uid);
    this.#tickets.delete(uid);
    return ticket;
  }

  drop(uid: string): void {
    this.#wanted.delete(uid);
    this.#tickets.delete(uid);
  }

  /**
   * Takes all containers of the node as proof that their generations were asked for once. A slot that is not wanted and
   * has no container is forgotten: there is nothing left that could be turned back.
   */
  witness(containers: readonly Slot[]): void {
    const before = this.#newest;
    this.#newest = new Map();
    for (const slot of [...containers, ...this.#wanted.values()]) {
      const place = placeOf(slot);
      this.#newest.set(place, Math.max(slot.generation, this.#newest.get(place) ?? before.get(place) ?? 0));
    }
  }

  /** What is wanted of a replica. `owner` is what its container says, where it has one. */
  wanted(uid: string, owner?: Slot): DesiredState {
    if (!this.#told) return 'unknown';
    const replica = this.#wanted.get(uid);
    if (!replica) return owner && this.#turnedBack(owner) ? 'unknown' : 'nothing';
    if (replica.retiringSince !== undefined) return 'retire';
    return this.#outdated(replica) ? 'outdated' : 'run';
  }

  #outdated(slot: Slot): boolean {
    return slot.generation < (this.#newest.get(placeOf(slot)) ?? 0);
  }

  /** Whether the slot of a container has been given to an older generation: then the container is not an orphan. */
  #turnedBack(owner: Slot): boolean {
    const place = placeOf(owner);
    return [...this.#wanted.values()].some(replica => placeOf(replica) === place && this.#outdated(replica));
  }

  #put(replica: Replica, before: Replica | undefined): void {
    const revived = before?.retiringSince !== undefined && replica.retiringSince === undefined;
    this.#wanted.set(replica.uid, revived ? before : replica);
    const place = placeOf(replica);
    if (replica.generation > (this.#newest.get(place) ?? 0)) this.#newest.set(place, replica.generation);
  }
}
