import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The official client of Kubernetes for Python, as its registry names it: the newest that was tried. */
const PACKAGE = 'kubernetes==37.*';
const INSTALL_MS = 240_000;

/** A Python that can import the client, or why there is none. */
export interface PythonClient {
  /** Empty when there is none. */
  readonly path: string;
  readonly missing: string;
  remove(): Promise<void>;
}

/** The Python that the setting names, or one in a folder of its own that the client is installed into. */
export async function preparePythonClient(): Promise<PythonClient> {
  const named = process.env['MOORING_PYTHON'];
  if (named !== undefined) return { path: named, missing: '', remove: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'mooring-python-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const path = join(folder, 'bin', 'python3');
  const isMade = await run('python3', ['-m', 'venv', folder]);
  // Without retries: a machine that cannot reach the registry is not to be waited for.
  const words = ['-m', 'pip', 'install', '--quiet', '--retries', '0', '--disable-pip-version-check', PACKAGE];
  const isInstalled = isMade && (await run(path, words));
  if (isInstalled) return { path, missing: '', remove };
  await remove();
  const missing = isMade
    ? 'the Python registry has not given its client of Kubernetes'
    : 'there is no python3 that makes virtual environments (apt-get install python3-venv)';
  return { path: '', missing: `${missing}; MOORING_PYTHON names a Python that has it`, remove };
}

function run(program: string, argv: readonly string[]): Promise<boolean> {
  return new Promise(end => {
    execFile(program, argv, { timeout: INSTALL_MS }, error => end(!error));
  });
}
