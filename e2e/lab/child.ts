import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';

/** One of our own processes, started from its entry point as a user's machine would start it. */
export class Child {
  readonly #entry: string;
  readonly #options: {
    readonly argv: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
    readonly logFile: string;
  };
  #process: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();

  constructor(
    entry: string,
    options: { argv?: readonly string[]; environment: Readonly<Record<string, string>>; logFile: string },
  ) {
    this.#entry = entry;
    this.#options = { argv: [], ...options };
  }

  start(): void {
    const log = openSync(this.#options.logFile, 'a');
    this.#process = spawn(process.execPath, ['--import', 'tsx', resolve(this.#entry), ...this.#options.argv], {
      env: { ...process.env, ...this.#options.environment },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const started = this.#process;
    this.#exited = new Promise(end => started.once('exit', end));
  }

  /** Sends a signal and, when it is one that ends a process, waits until it has. */
  async kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#process?.kill(signal);
    await this.#exited;
    this.#process = undefined;
  }

  /** Stops it where it is, as a machine that hangs: it neither ends nor works until `resume`. */
  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  async restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.kill(signal);
    this.start();
  }
}
