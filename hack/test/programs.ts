import { type ChildProcess, spawn } from 'node:child_process';

/** How a program ended, and what it printed, where that was kept. */
export interface ProgramOutcome {
  readonly status: number | null;
  readonly printed: string;
}

/**
 * The programs that run for us. Each has a process group of its own, so that a Ctrl-C reaches them through `end` alone
 * and not in the middle of what they are taking down.
 */
export class Programs {
  readonly #running = new Set<ChildProcess>();
  #isEnding = false;

  /** Whether nothing more is to be begun. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Runs Node. With `live` it prints where we do; else what it prints, errors included, is kept until it has ended. */
  run(
    argv: readonly string[],
    options: { live: boolean; environment?: Readonly<Record<string, string>> },
  ): Promise<ProgramOutcome> {
    const { live, environment = {} } = options;
    const output = live ? 'inherit' : 'pipe';
    const child = spawn(process.execPath, argv, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', output, output],
      detached: true,
    });
    this.#running.add(child);
    const printed: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => printed.push(chunk));
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', status => {
        this.#running.delete(child);
        resolve({ status, printed: Buffer.concat(printed).toString() });
      });
    });
  }

  /** Asks each to take down what it has put up and end. Asked again, ends them at once. */
  end(): void {
    for (const child of this.#running) {
      if (this.#isEnding) endGroup(child);
      else child.kill('SIGINT');
    }
    this.#isEnding = true;
  }
}

/** Ends a program and all that it has started in its group. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
  }
}
