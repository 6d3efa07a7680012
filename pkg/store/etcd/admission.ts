import type { WireChange } from './messages.js';

/** Decides which changes may travel in one batch. One is made for each batch. */
export interface Admission {
  /** Whether `change` may go along with, or at the same time as, all that was noted so far. */
  fits(change: WireChange): boolean;
  /** From now on `change` counts, whether it goes along or waits. */
  note(change: WireChange): void;
}

/**
 * Keeps apart changes that meet.
 *
 * etcd judges the guards of all changes of a batch on the state *before* the batch. Were two changes that guard on
 * each other's keys in one batch, both would be made, though each alone forbids the other. So no change may join that
 * guards on, or writes, what another one writes. Changes that wait are noted too: they hold back later ones on the
 * same keys, so that order per key stays first come, first served.
 */
export class ConflictAdmission implements Admission {
  readonly #guarded = new Set<string>();
  readonly #written = new Set<string>();

  fits({ guards, puts, deletes }: WireChange): boolean {
    for (const { key } of guards) if (this.#written.has(key)) return false;
    for (const { key } of puts) if (this.#written.has(key) || this.#guarded.has(key)) return false;
    for (const key of deletes) if (this.#written.has(key) || this.#guarded.has(key)) return false;
    return true;
  }

  note({ guards, puts, deletes }: WireChange): void {
    for (const { key } of guards) this.#guarded.add(key);
    for (const { key } of puts) this.#written.add(key);
    for (const key of deletes) this.#written.add(key);
  }
}
