import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';

import { until } from '../../dev/testing/index.js';

/** One of our own processes, started as a person starts it. */
export class Child {
  readonly #program: 'server' | 'controllers' | 'agent';
  readonly #options: {
    readonly argv: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
    readonly logFile: string;
  };
  #process: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();

  constructor(
    program: 'server' | 'controllers' | 'agent',
    options: { argv?: readonly string[]; environment: Readonly<Record<string, string>>; logFile: string },
  ) {
    this.#program = program;
    this.#options = { argv: [], ...options };
  }

  /** `failpoints` are where it is to die, as MOORING_FAILPOINTS says it; `environment` is added to its own for this life. */
  start(failpoints = '', environment: Readonly<Record<string, string>> = {}): void {
    const log = openSync(this.#options.logFile, 'a');
    this.#process = spawn(resolve('moor'), [this.#program, ...this.#options.argv], {
      env: { ...process.env, ...this.#options.environment, ...environment, MOORING_FAILPOINTS: failpoints },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const started = this.#process;
    this.#exited = new Promise(end => started.once('exit', end));
  }

  /** The id of the process while it runs. */
  get pid(): number {
    if (this.#process?.pid === undefined) throw new Error(`${this.#program} is not running`);
    return this.#process.pid;
  }

  /** Waits until it has been killed, by itself or by another process. */
  async died(of: string, withinMs: number): Promise<void> {
    await until(`${this.#program} to die of ${of}`, async () => this.#process?.signalCode === 'SIGKILL', withinMs);
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

  async restart(
    signal: 'SIGKILL' | 'SIGTERM',
    failpoints?: string,
    environment?: Readonly<Record<string, string>>,
  ): Promise<void> {
    await this.kill(signal);
    this.start(failpoints, environment);
  }
}
