import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { type Directions, runGuide } from './guide.js';

/** What commands of pages are run on: what `moor up` starts, in a folder of its own. */
export class GuideStack {
  readonly folder = mkdtempSync(join(tmpdir(), 'mooring-guides-'));
  readonly home = join(this.folder, 'home');
  readonly env: NodeJS.ProcessEnv = {
    ...process.env,
    MOORING_HOME: this.home,
    HOME: this.folder,
    NO_COLOR: '1',
    PATH: `${this.folder}/bin:${process.env['PATH']}`,
  };

  constructor() {
    mkdirSync(join(this.folder, 'bin'));
    symlinkSync(resolve('moor'), join(this.folder, 'bin/moor'));
  }

  /** Starts everything. Throws with what was printed when that fails. */
  start(nodes: number): void {
    this.#moor('up', '--nodes', String(nodes), '--no-demo');
  }

  /** A file of the home that says how something was started. */
  read<T>(...names: readonly string[]): T {
    return JSON.parse(readFileSync(join(this.home, ...names), 'utf8')) as T;
  }

  /** Runs the commands of a page, with the address of the registry that is here. */
  run(file: string, { replacements = {}, around = {} }: Directions = {}): Promise<string> {
    const { facts } = this.read<{ facts: { registry: string } }>('run', 'part-registry.json');
    const here = { '127.0.0.1:7071': facts.registry, ...replacements };
    return runGuide(file, { cwd: this.folder, env: this.env }, { replacements: here, around });
  }

  stop(): void {
    this.#moor('down', '--purge');
    rmSync(this.folder, { recursive: true, force: true });
  }

  #moor(...argv: readonly string[]): void {
    const { status, stdout, stderr } = spawnSync('moor', argv, {
      cwd: this.folder,
      env: this.env,
      encoding: 'utf8',
      timeout: 280_000,
      killSignal: 'SIGKILL',
    });
    if (status !== 0) throw new Error(`moor ${argv.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  }
}
