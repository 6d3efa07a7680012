import type { Etcd3 } from 'etcd3';

import type { Clock } from '../../clock/index.js';
import { StoreUnavailableFault } from '../faults.js';

type RawStream = Awaited<ReturnType<Etcd3['leaseClient']['leaseKeepAlive']>>;

interface Asker {
  readonly answer: (alive: boolean) => void;
  readonly fail: (fault: StoreUnavailableFault) => void;
}

/**
 * One stream on which leases are extended, until it breaks.
 *
 * Answers are matched to questions in order: were an answer given to a later question than its own, a leader would
 * believe its lease to last longer than it does.
 */
export class KeepAlives {
  readonly #stream: Promise<RawStream>;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #askers = new Map<string, Asker[]>();
  #broken = false;

  constructor(clients: Etcd3, clock: Clock, deadlineMs: number) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#stream = clients.leaseClient.leaseKeepAlive();
    this.#stream.then(
      stream => {
        stream.on('data', ({ ID, TTL }) => this.#answered(ID, Number(TTL) > 0));
        stream.on('error', (cause: Error) => this.#end(cause));
        stream.on('end', () => this.#end());
      },
      (cause: unknown) => this.#end(cause),
    );
  }

  /** Once true, another one is needed. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Extends a lease. False when it has ended. */
  ask(id: string): Promise<boolean> {
    return new Promise((resolve, reject) => {
      // A stream that keeps silent about one lease is not trusted with the others.
      const cancel = this.#clock.after(this.#deadlineMs, () => this.close());
      const askers = this.#askers.get(id) ?? [];
      this.#askers.set(id, askers);
      askers.push({
        answer: alive => {
          cancel();
          resolve(alive);
        },
        fail: fault => {
          cancel();
          reject(fault);
        },
      });
      this.#stream.then(
        stream => {
          if (!this.#broken) stream.write({ ID: id });
        },
        () => undefined, // everybody was told
      );
    });
  }

  close(): void {
    this.#end();
    this.#stream.then(
      stream => stream.cancel(),
      () => undefined,
    );
  }

  #answered(id: string, alive: boolean): void {
    const askers = this.#askers.get(id);
    askers?.shift()?.answer(alive);
    if (askers?.length === 0) this.#askers.delete(id);
  }

  #end(cause?: unknown): void {
    this.#broken = true;
    const all = [...this.#askers.values()].flat();
    this.#askers.clear();
    const fault = new StoreUnavailableFault('a lease could not be extended', { cause });
    for (const { fail } of all) fail(fault);
  }
}
