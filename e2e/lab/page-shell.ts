import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

const PATIENCE_MS = 280_000;
const SHOWN_LETTERS = 3_000;
/** Where the shell says which block it has ended. */
const SAYS = 3;

/** Where and with what the commands of a page are run. */
export interface PageShellOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * A shell in which the blocks of a page are run one after the other, so that what one sets the next one has.
 * It ends with this process, and what it has started too, when nobody has ended it before.
 */
export class PageShell {
  readonly cwd: string;
  readonly #folder: string;
  readonly #shell: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #kill = () => killGroup(this.#shell.pid!);
  #said = 0;
  #blocks = 0;
  #onSaid: () => void = () => undefined;

  constructor({ cwd, env }: PageShellOptions) {
    this.cwd = cwd;
    this.#folder = mkdtempSync(join(cwd, '.blocks-'));
    const log = openSync(this.#log, 'a');
    this.#shell = spawn('sh', ['-eu'], { cwd, env, detached: true, stdio: ['pipe', log, log, 'pipe'] });
    closeSync(log);
    process.once('exit', this.#kill);
    this.#ended = new Promise(end => this.#shell.once('exit', () => end()));
    (this.#shell.stdio[SAYS] as Readable).on('data', (bytes: Buffer) => {
      this.#said += bytes.length;
      this.#onSaid();
    });
    this.#shell.stdin!.on('error', () => undefined); // it has ended, which is told below
  }

  get #log(): string {
    return join(this.#folder, 'printed');
  }

  /** What everything has printed so far. */
  get printed(): string {
    return readFileSync(this.#log, 'utf8');
  }

  /** Runs commands to their end. Throws with the end of what was printed when one of them fails. */
  async run(commands: string): Promise<void> {
    const file = join(this.#folder, `${++this.#blocks}.sh`);
    writeFileSync(file, commands);
    const done = new Promise<boolean>(resolve => {
      this.#onSaid = () => this.#said >= this.#blocks && resolve(true);
      void this.#ended.then(() => resolve(false));
    });
    (this.#shell.stdin as Writable).write(`. ${file} </dev/null; printf . >&${SAYS}\n`);
    const late = setTimeout(this.#kill, PATIENCE_MS);
    const isDone = await done;
    clearTimeout(late);
    if (isDone) return;
    const { exitCode, signalCode } = this.#shell;
    throw new Error(`ended with ${exitCode ?? signalCode}:\n${commands}\n${this.printed.slice(-SHOWN_LETTERS)}`);
  }

  /** Ends the shell and whatever it has started. */
  async end(): Promise<void> {
    this.#kill();
    process.off('exit', this.#kill);
    await this.#ended;
  }
}

/** What a shell left in the background is still of its group when the shell itself has ended, as it does at a command that fails. */
function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
