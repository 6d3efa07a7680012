import type { Replica } from '../../crds/replica/index.js';
import type { Wanted } from './next-step.js';

/**
 * What the control plane wants of this node, as last told.
 *
 * It only moves forward: a replica that was told to retire stays retired, and of one slot nothing older is accepted than
 * what has been seen, so that a control plane restored from an old backup cannot turn the node back.
 */
export class Assignments {
  #wanted = new Map<string, Replica>();
  readonly #newest = new Map<string, number>();
  #told = false;

  get uids(): readonly string[] {
    return [...this.#wanted.keys()];
  }

  get(uid: string): Replica | undefined {
    return this.#wanted.get(uid);
  }

  /** Replaces everything. */
  replaceAll(replicas: readonly Replica[]): void {
    const before = this.#wanted;
    this.#wanted = new Map();
    this.#told = true;
    for (const replica of replicas) this.#put(replica, before.get(replica.uid));
  }

  set(replica: Replica): void {
    this.#put(replica, this.#wanted.get(replica.uid));
  }

  drop(uid: string): void {
    this.#wanted.delete(uid);
  }

  /** A container proves that this generation of the slot was asked for once. */
  witness(slot: { readonly deploymentUid: string; readonly slot: number; readonly generation: number }): void {
    const place = `${slot.deploymentUid}/${slot.slot}`;
    if (slot.generation > (this.#newest.get(place) ?? 0)) this.#newest.set(place, slot.generation);
  }

  wanted(uid: string): Wanted {
    if (!this.#told) return 'unknown';
    const replica = this.#wanted.get(uid);
    if (!replica) return 'nothing';
    if (replica.retiringSince !== undefined) return 'retire';
    const newest = this.#newest.get(`${replica.deploymentUid}/${replica.slot}`) ?? 0;
    return replica.generation < newest ? 'outdated' : 'run';
  }

  #put(replica: Replica, before: Replica | undefined): void {
    const revived = before?.retiringSince !== undefined && replica.retiringSince === undefined;
    this.#wanted.set(replica.uid, revived ? before : replica);
    this.witness(replica);
  }
}
