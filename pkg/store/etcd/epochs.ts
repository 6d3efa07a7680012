import { keys } from '../../../crds/keys/index.js';
import { type Clock, type Random, sleep } from '../../clock/index.js';
import type { Revision } from '../entry.js';

/**
 * A stretch of time in which batches are sent. Each batch is made only if its epoch's key does not exist, so putting
 * the key closes the epoch: of all batches that carry it, those not made by then never will be.
 */
export interface Epoch {
  readonly key: string;
}

export interface EpochsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Puts a key so that it stands for at least some minutes, and gives the revision. May be called again for the same key. */
  readonly put: (key: string) => Promise<Revision>;
}

const TRY_AGAIN_MS = 100;

/**
 * Makes an unknown outcome knowable.
 *
 * When an answer is lost, the request may still be under way, so reading what is stored proves nothing: the change may
 * be made a moment later. Closing the epoch ends that. It costs one comparison a batch, and a key only when an
 * answer is lost.
 */
export class Epochs {
  readonly #options: EpochsOptions;
  readonly #closing = new Map<Epoch, Promise<Revision | undefined>>();
  #current: Epoch;

  constructor(options: EpochsOptions) {
    this.#options = options;
    this.#current = this.#begin();
  }

  get current(): Epoch {
    return this.#current;
  }

  /** Lets no further batch join this epoch. */
  leave(epoch: Epoch): void {
    if (this.#current === epoch) this.#current = this.#begin();
  }

  /** Closes an epoch and gives a revision at which it is closed; undefined when that could not be done in time. */
  close(epoch: Epoch, deadline: number): Promise<Revision | undefined> {
    this.leave(epoch);
    let closing = this.#closing.get(epoch);
    if (!closing) {
      closing = this.#closeBy(epoch, deadline).finally(() => this.#closing.delete(epoch));
      this.#closing.set(epoch, closing);
    }
    return closing;
  }

  async #closeBy(epoch: Epoch, deadline: number): Promise<Revision | undefined> {
    const { clock, put } = this.#options;
    for (;;) {
      try {
        return await put(epoch.key);
      } catch {
        if (clock.monotonic() + TRY_AGAIN_MS >= deadline) return undefined;
      }
      await sleep(clock, TRY_AGAIN_MS);
    }
  }

  #begin(): Epoch {
    return { key: keys.epoch(this.#options.random.uuid()) };
  }
}
