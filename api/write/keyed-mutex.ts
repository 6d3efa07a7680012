/**
 * Runs the requests of this server that share a conflict key one after the other, so that they do not conflict at the
 * store. All keys are locked at once, which rules out deadlocks.
 */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  run<Result>(conflictKeys: readonly string[], work: () => Promise<Result>): Promise<Result> {
    return conflictKeys.length === 0 ? work() : this.#runLocked(conflictKeys, work);
  }

  async #runLocked<Result>(conflictKeys: readonly string[], work: () => Promise<Result>): Promise<Result> {
    const before = conflictKeys.flatMap(key => this.#last.get(key) ?? []);
    let unlock: () => void = () => undefined;
    const unlocked = new Promise<void>(resolve => {
      unlock = resolve;
    });
    for (const key of conflictKeys) this.#last.set(key, unlocked);
    await Promise.all(before);
    try {
      return await work();
    } finally {
      unlock();
      for (const key of conflictKeys) if (this.#last.get(key) === unlocked) this.#last.delete(key);
    }
  }
}
