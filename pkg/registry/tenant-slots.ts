/** Lets each tenant do so many things at once, and has the rest of them wait in line. */
export class TenantSlots {
  readonly #size: number;
  readonly #lines = new Map<string, { busy: number; readonly waiting: Set<() => void> }>();

  constructor(size: number) {
    this.#size = size;
  }

  /** Takes a slot, to be given back with `leave`. False, and nothing to give back, when `signal` was aborted first. */
  enter(tenant: string, signal: AbortSignal): Promise<boolean> {
    const line = this.#lines.get(tenant) ?? { busy: 0, waiting: new Set() };
    this.#lines.set(tenant, line);
    if (line.busy < this.#size) {
      line.busy++;
      return Promise.resolve(true);
    }
    return new Promise(resolve => {
      const finish = (entered: boolean) => {
        line.waiting.delete(enter);
        signal.removeEventListener('abort', giveUp);
        resolve(entered);
      };
      const enter = () => finish(true);
      const giveUp = () => finish(false);
      line.waiting.add(enter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Hands the slot to whoever waits longest. */
  leave(tenant: string): void {
    const line = this.#lines.get(tenant);
    if (!line) return;
    const [next] = line.waiting;
    if (next) next();
    else if (--line.busy === 0) this.#lines.delete(tenant);
  }
}
