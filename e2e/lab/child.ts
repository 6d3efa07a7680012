import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { until } from './until.js';

/** Where `make test` has put all programs as plain JavaScript, which starts in half the time. Else they run as they stand. */
const compiled = process.env['MOORING_TEST_COMPILED'];

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

  /** `failpoints` are where it is to die, as MOORING_FAILPOINTS says it. */
  start(failpoints = ''): void {
    const log = openSync(this.#options.logFile, 'a');
    this.#process = spawn(process.execPath, [...programAt(this.#entry), ...this.#options.argv], {
      env: { ...process.env, ...this.#options.environment, MOORING_FAILPOINTS: failpoints },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const started = this.#process;
    this.#exited = new Promise(end => started.once('exit', end));
  }

  /** Waits until it has been killed, by itself or by somebody else. */
  async died(of: string, withinMs: number): Promise<void> {
    await until(`${this.#entry} to die of ${of}`, async () => this.#process?.signalCode === 'SIGKILL', withinMs);
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

  async restart(signal: 'SIGKILL' | 'SIGTERM', failpoints?: string): Promise<void> {
    await this.kill(signal);
    this.start(failpoints);
  }
}

function programAt(entry: string): readonly string[] {
  if (compiled === undefined) return ['--import', 'tsx', resolve(entry)];
  return [join(compiled, entry.replace(/\.ts$/, '.js'))];
}
