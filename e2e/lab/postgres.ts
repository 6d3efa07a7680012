import { type ChildProcess, execFile, execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { awaitServing, endProgram, findFreePort, runProgram } from '../../dev/processes/index.js';

const SERVES_WITHIN_MS = 60_000;
/** It refuses to be run by root. */
export const NOBODY = 65_534;
const INSTALLED = '/usr/lib/postgresql';

/** Debian keeps its programs beside those of other versions, not on the PATH. */
const version = (existsSync(INSTALLED) ? readdirSync(INSTALLED) : []).findLast(each =>
  ['initdb', 'postgres', 'psql'].every(name => existsSync(join(INSTALLED, each, 'bin', name))),
);
/** Where Debian keeps its programs, what they load, and what they read. */
export const postgresFolders = {
  programs: `${INSTALLED}/${version}/bin`,
  libraries: `${INSTALLED}/${version}/lib`,
  shared: `/usr/share/postgresql/${version}`,
};
const { programs } = postgresFolders;

/** Why nothing is tried on a database, where that is so. */
export const noPostgres =
  version === undefined ? `no PostgreSQL in ${INSTALLED} (apt-get install postgresql)` : undefined;

/** A real PostgreSQL of its own on loopback, which asks for passwords there, and for none at its socket. */
export class PostgresProcess {
  readonly #folder: string;
  readonly #port: number;
  readonly #child: ChildProcess;

  private constructor(folder: string, port: number, child: ChildProcess) {
    this.#folder = folder;
    this.#port = port;
    this.#child = child;
  }

  /** Begins with a copy of the folder of another, which belongs to nobody, where that is given. */
  static async start(from?: string): Promise<PostgresProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'mooring-postgres-'));
    const owner = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    if (owner.uid !== undefined) chownSync(folder, owner.uid, owner.gid);
    const data = join(folder, 'data');
    if (from === undefined) {
      const made = ['-D', data, '-U', 'postgres', '--no-sync', '--auth-local=trust', '--auth-host=scram-sha-256'];
      execFileSync(join(programs, 'initdb'), made, { ...owner, cwd: folder, stdio: 'pipe' });
    } else {
      execFileSync('cp', ['-a', from, data]);
      rmSync(join(data, 'postmaster.pid'), { force: true }); // of the server that wrote it
    }
    const port = await findFreePort();
    const logFile = join(folder, 'log');
    const argv = ['-D', data, '-k', folder, '-h', '127.0.0.1', '-p', String(port), '-F'];
    const child = runProgram(join(programs, 'postgres'), argv, { logFile, detached: false, ...owner });
    const database = new PostgresProcess(folder, port, child);
    const serves = () => database.#answers({ ...process.env, ...database.environment });
    await awaitServing(child, serves, { withinMs: SERVES_WITHIN_MS, logFile });
    return database;
  }

  /** With this, `psql` speaks to it as its owner. */
  get environment(): Readonly<Record<string, string>> {
    const PATH = `${programs}:${process.env['PATH']}`;
    return { PATH, PGHOST: this.#folder, PGPORT: String(this.#port), PGUSER: 'postgres', PGDATABASE: 'postgres' };
  }

  /** What it answers its owner, a row a line. */
  ask(question: string): string {
    const env = { ...process.env, ...this.environment };
    return execFileSync('psql', ['-XqAtc', question], { env, encoding: 'utf8' }).trim();
  }

  /** Whether it lets a user in with this password. */
  letsIn(user: string, password: string): Promise<boolean> {
    return this.#answers({ ...this.environment, PGHOST: '127.0.0.1', PGUSER: user, PGPASSWORD: password });
  }

  #answers(env: NodeJS.ProcessEnv): Promise<boolean> {
    return new Promise(resolve => {
      execFile('psql', ['-c', 'SELECT 1'], { env: { ...process.env, ...env }, timeout: 60_000 }, error =>
        resolve(!error),
      );
    });
  }

  async stop(): Promise<void> {
    await endProgram(this.#child, 'SIGINT');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
