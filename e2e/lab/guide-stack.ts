import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { type Directions, openGuideFolder, runGuide } from './guide.js';
import type { PageShellOptions } from './page-shell.js';

const USUAL_REGISTRY = '127.0.0.1:7071';

type Words = Readonly<Record<string, string>>;

/** The words of a story, and last the usual registry, which these may name: for it stands the one that is here. */
export function withRegistry(replacements: Words, findRegistry: () => string): Words {
  return {
    ...replacements,
    get [USUAL_REGISTRY]() {
      return findRegistry();
    },
  };
}

/** What commands of pages are run on: what `moor up` starts, in a folder of its own. */
export class GuideStack {
  readonly folder: string;
  readonly home: string;
  readonly #place: PageShellOptions;

  constructor() {
    const { cwd, env } = openGuideFolder();
    this.folder = cwd;
    this.home = join(cwd, 'home');
    this.#place = { cwd, env: { ...env, MOORING_HOME: this.home } };
  }

  /** Starts everything. Throws with what was printed when that fails. */
  start(nodes: number): void {
    this.#moor('up', '--nodes', String(nodes), '--no-demo');
  }

  /** A file of the home that says how something was started. */
  read<T>(...names: readonly string[]): T {
    return JSON.parse(readFileSync(join(this.home, ...names), 'utf8')) as T;
  }

  /** Runs the commands of a page, with the address of the registry that is here, once there is one. */
  run(file: string, { replacements = {}, around = {} }: Directions = {}): Promise<string> {
    return runGuide(file, this.#place, {
      replacements: withRegistry(replacements, () => this.#findRegistry()),
      around,
    });
  }

  #findRegistry(): string {
    if (!existsSync(join(this.home, 'run/part-registry.json'))) return USUAL_REGISTRY;
    return this.read<{ facts: { registry: string } }>('run', 'part-registry.json').facts.registry;
  }

  stop(): void {
    this.#moor('down', '--purge');
    rmSync(this.#place.cwd, { recursive: true, force: true });
  }

  #moor(...argv: readonly string[]): void {
    const { status, stdout, stderr } = spawnSync('moor', argv, {
      ...this.#place,
      encoding: 'utf8',
      timeout: 280_000,
      killSignal: 'SIGKILL',
    });
    if (status !== 0) throw new Error(`moor ${argv.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  }
}
