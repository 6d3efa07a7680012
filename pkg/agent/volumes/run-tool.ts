import { execFile } from 'node:child_process';
import { access, constants, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

import { normaliseMessage } from '../normalise-message.js';
import { VolumeFault } from './driver.js';

const TIMEOUT_MS = 300_000;
/** A program that says more is ended: one that copies a folder names each file that was removed meanwhile. */
const PRINTED_MAX = 64 * 2 ** 20;

/** What every program is given: messages in English, and the folders where Debian keeps programs for root. */
export const programEnvironment: NodeJS.ProcessEnv = {
  LC_ALL: 'C',
  PATH: `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin`,
};

/**
 * Whether there is such a program to run. It is looked for and not run: to run five took a tenth of the start of an agent. One of
 * BusyBox, which has the name and few of the options, is none.
 */
export async function isInstalled(program: string, path = programEnvironment['PATH'] ?? ''): Promise<boolean> {
  for (const folder of path.split(':')) {
    const file = await findExecutable(join(folder, program)).catch(() => undefined);
    if (file !== undefined) return basename(file) !== 'busybox';
  }
  return false;
}

/** The file that is run by that path. Throws, or answers undefined, when there is none. */
async function findExecutable(path: string): Promise<string | undefined> {
  await access(path, constants.X_OK);
  return (await stat(path)).isFile() ? realpath(path) : undefined;
}

/** Runs a program to its end and answers what it printed. The words go to it as they are: there is no shell. */
export function runTool(program: string, ...words: readonly string[]): Promise<string> {
  return run(program, words, TIMEOUT_MS);
}

/** The same of a program that takes as long as there is much to do: ending it would undo what it has done. */
export function runLongTool(program: string, ...words: readonly string[]): Promise<string> {
  return run(program, words, 0);
}

/**
 * The same of a program that reads a folder to which a workload writes meanwhile: what leads over a symbolic link below it fails, so that no folder
 * which is exchanged for one leads out of the volume. Where the agent may not mount, or Linux is older than 5.10, nothing holds it back, nor
 * where `mount` does not know the option: then it leaves it out without a word.
 */
export async function runConfined(folder: string, program: string, ...words: readonly string[]): Promise<string> {
  return run(program, words, 0, (await mayConfine(folder)) ? confine(folder) : []);
}

/** Once it could be done, it always is: what fails then is a failure. */
let isConfinable = false;

async function mayConfine(folder: string): Promise<boolean> {
  if (isConfinable) return true;
  const isDone = await run('true', [], TIMEOUT_MS, confine(folder)).then(
    () => true,
    () => false,
  );
  isConfinable ||= isDone;
  return isConfinable;
}

/** In mounts of its own, which end with it. What the machine unmounts goes there too: no disk is kept busy. */
function confine(folder: string): readonly string[] {
  const script = 'mount --bind -o nosymfollow -- "$0" "$0" && exec "$@"';
  return ['unshare', '--mount', '--propagation', 'slave', '--', 'sh', '-c', script, folder];
}

async function run(
  program: string,
  words: readonly string[],
  timeout: number,
  before: readonly string[] = [],
): Promise<string> {
  try {
    const options = { timeout, killSignal: 'SIGKILL', env: programEnvironment, maxBuffer: PRINTED_MAX } as const;
    const [file = program, ...rest] = [...before, program, ...words];
    return (await promisify(execFile)(file, rest, options)).stdout;
  } catch (thrown) {
    const { stderr = '', code, killed } = thrown as { stderr?: string; code?: unknown; killed?: boolean };
    if (code === 'ENOENT') throw new VolumeFault('failed', `${program} is not installed; install it on this node`);
    const why = killed && timeout > 0 ? `it did not end within ${TIMEOUT_MS / 60_000} minutes` : stderr;
    throw toProgramFault([program, ...words], why, thrown);
  }
}

/** The fault of a program that failed, with the last that it said. Paths are shortened to their last part. */
export function toProgramFault(words: readonly string[], printed: string, cause?: unknown): VolumeFault {
  const said =
    printed
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^ERROR: /, '') || 'it gave no reason';
  const isFull = /no space left/i.test(printed);
  const what = words.slice(0, words[0] === 'btrfs' ? 3 : 1).filter(word => /^[a-z.]+$/.test(word));
  const message = `${what.join(' ')} failed: ${said.replace(/(?:\/[^/\s':]+)+\//g, '')}`;
  const remedy = isFull ? '; free some space or grow the volume' : '; see the kernel log of this node';
  return new VolumeFault(isFull ? 'no_space' : 'failed', normaliseMessage(message) + remedy, { cause });
}
