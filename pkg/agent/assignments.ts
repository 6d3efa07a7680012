import type { Replica } from '../../crds/replica/index.js';
import type { AssignmentLine, NodePolicy } from '../link/index.js';

type AssignmentSnapshot = Extract<AssignmentLine, { readonly type: 'snapshot' }>;

/**
 * The desired state of a replica: it runs, it retires, or `nothing` because it is no longer assigned here. `unknown` until
 * the first snapshot, and `outdated` when the assignment is older than one already seen.
 */
export type DesiredState = 'run' | 'retire' | 'nothing' | 'unknown' | 'outdated';

/** A slot of a deployment, and the generation that fills it. */
type Slot = Pick<Replica, 'deploymentUid' | 'slot' | 'generation'>;

/** A slot that has a container, with the restore epoch in which that was created. */
type FilledSlot = Slot & { readonly restoreEpoch?: number };

const slotKey = ({ deploymentUid, slot }: Slot): string => `${deploymentUid}/${slot}`;

/**
 * The replicas assigned to this node, as last received from the control plane.
 *
 * It only moves forward: a retired replica stays retired, and no generation of a slot is accepted that is older than one
 * already seen. So a control plane restored from an old backup cannot roll the node back, until an operator declares the restore:
 * then the restore epoch rises, and what was seen before it no longer counts.
 */
export class Assignments {
  #wanted = new Map<string, Replica>();
  #tickets = new Map<string, string>();
  #pullTickets = new Map<string, string>();
  #newest = new Map<string, number>();
  #containers: readonly FilledSlot[] = [];
  #restoreEpoch = 0;
  #isReceived = false;
  #policy: NodePolicy = {};

  /** The highest restore epoch that was received. */
  get restoreEpoch(): number {
    return this.#restoreEpoch;
  }

  get uids(): readonly string[] {
    return [...this.#wanted.keys()];
  }

  get(uid: string): Replica | undefined {
    return this.#wanted.get(uid);
  }

  /** The settings of the platform, as of the last snapshot. */
  get policy(): NodePolicy {
    return this.#policy;
  }

  setPolicy(policy: NodePolicy): void {
    this.#policy = policy;
  }

  replaceAll(
    replicas: readonly Replica[],
    { tickets = {}, pullTickets = {}, restoreEpoch = 0 }: Omit<Partial<AssignmentSnapshot>, 'replicas'> = {},
  ): void {
    const isRestored = restoreEpoch > this.#restoreEpoch;
    const before = isRestored ? new Map<string, Replica>() : this.#wanted;
    this.#tickets = new Map(Object.entries(tickets));
    this.#pullTickets = new Map(Object.entries(pullTickets));
    this.#wanted = new Map();
    this.#isReceived = true;
    if (isRestored) {
      this.#restoreEpoch = restoreEpoch;
      this.#newest = new Map();
      this.witness(this.#containers);
    }
    for (const replica of replicas) this.#put(replica, before.get(replica.uid));
  }

  set(replica: Replica, ticket?: string, pullTicket?: string): void {
    this.#put(replica, this.#wanted.get(replica.uid));
    if (ticket !== undefined) this.#tickets.set(replica.uid, ticket);
    if (pullTicket !== undefined) this.#pullTickets.set(replica.uid, pullTicket);
  }

  /** Takes the ticket for the login to the registry of the replica's image, as `takeTicket` does. */
  takePullTicket(uid: string): string | undefined {
    const ticket = this.#pullTickets.get(uid);
    this.#pullTickets.delete(uid);
    return ticket;
  }

  /** Forgets what was assigned, as before the first snapshot. What was seen of generations stays. */
  forget(): void {
    this.#wanted = new Map();
    this.#tickets = new Map();
    this.#isReceived = false;
  }

  /** Takes the ticket for the replica's secrets, if there is one. It is valid once, so it is removed here. */
  takeTicket(uid: string): string | undefined {
    const ticket = this.#tickets.get(uid);
    this.#tickets.delete(uid);
    return ticket;
  }

  drop(uid: string): void {
    this.#wanted.delete(uid);
    this.#tickets.delete(uid);
    this.#pullTickets.delete(uid);
  }

  /**
   * Learns the newest generation of each slot from the node's containers. A slot without assignment and container is
   * forgotten: nothing is left that could be rolled back.
   */
  witness(containers: readonly FilledSlot[]): void {
    const before = this.#newest;
    this.#containers = containers;
    this.#newest = new Map();
    const counted = containers.filter(({ restoreEpoch = 0 }) => restoreEpoch >= this.#restoreEpoch);
    for (const slot of [...counted, ...this.#wanted.values()]) {
      const place = slotKey(slot);
      this.#newest.set(place, Math.max(slot.generation, this.#newest.get(place) ?? before.get(place) ?? 0));
    }
  }

  /** The desired state of a replica. `owner` comes from the labels of its container, if it has one. */
  wanted(uid: string, owner?: Slot): DesiredState {
    if (!this.#isReceived) return 'unknown';
    const replica = this.#wanted.get(uid);
    if (!replica) return owner && this.#isRolledBack(owner) ? 'unknown' : 'nothing';
    if (replica.retiringSince !== undefined) return 'retire';
    return this.#isOutdated(replica) ? 'outdated' : 'run';
  }

  #isOutdated(slot: Slot): boolean {
    return slot.generation < (this.#newest.get(slotKey(slot)) ?? 0);
  }

  /** Whether the slot of a container was assigned to an older generation: then the container is not an orphan. */
  #isRolledBack(owner: Slot): boolean {
    const place = slotKey(owner);
    return [...this.#wanted.values()].some(replica => slotKey(replica) === place && this.#isOutdated(replica));
  }

  #put(replica: Replica, before: Replica | undefined): void {
    const revived = before?.retiringSince !== undefined && replica.retiringSince === undefined;
    this.#wanted.set(replica.uid, revived ? before : replica);
    const place = slotKey(replica);
    if (replica.generation > (this.#newest.get(place) ?? 0)) this.#newest.set(place, replica.generation);
  }
}
