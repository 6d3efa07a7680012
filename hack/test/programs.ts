import { type ChildProcess, spawn } from 'node:child_process';

import { sleep, systemClock, systemRandom } from '../../pkg/clock/index.js';
import { listPids, readStat } from '../../up/machine/process-stat.js';

/** How a program ended, and what it printed, where that was kept. */
export interface ProgramOutcome {
  readonly status: number | null;
  readonly printed: string;
}

/** How long programs run at most before they are stalled again. */
const RUNNING_MS = 3_000;

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
      if (this.#isEnding && child.pid !== undefined) signalProcess(-child.pid, 'SIGKILL');
      else child.kill('SIGINT');
    }
    this.#isEnding = true;
  }

  /** Has each program, with all that it has started in its group, stand still for `ms` now and then, as on a machine that others use. */
  async stall(ms: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(systemClock, systemRandom.next() * RUNNING_MS, signal);
      const stalled = listRunning(new Set([...this.#running].map(({ pid }) => String(pid))));
      for (const pid of stalled) signalProcess(pid, 'SIGSTOP');
      await sleep(systemClock, ms, signal);
      for (const pid of stalled) signalProcess(pid, 'SIGCONT');
    }
  }
}

/** The processes of these groups that run. One that a test has stopped must not go on because of us. */
function listRunning(groups: ReadonlySet<string>): readonly number[] {
  return listPids().filter(pid => {
    const [state, , group = ''] = readStat(pid);
    return groups.has(group) && state !== 'T';
  });
}

/** Signals a process, or with its negative number a group, if there is one. */
function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
  }
}
