import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import { pushImage, readBusybox } from '../../dev/processes/index.js';

const execute = promisify(execFile);
const SQLITE = '/usr/bin/sqlite3';

/** The file of the database on its volume. SQLite keeps others beside it, whose names begin with it. */
export const DATABASE = 'records.db';

/**
 * Checks what it finds, says so, and goes on: numbered records, each with the checksum of the one before it, of its number and of its
 * body. One that is on the disk is acknowledged with a line, which is kept outside of the volume.
 */
const WRITE = `#!/bin/sh
trap 'exit 0' TERM INT
base() { sqlite3 -batch -bail -noheader -separator ' ' -cmd '.timeout 20000' -cmd 'PRAGMA synchronous = FULL' /data/${DATABASE} "$@"; }
base 'PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS records (n INTEGER PRIMARY KEY, body TEXT NOT NULL, sum TEXT NOT NULL)' >/dev/null || exit 1
base "SELECT 'opened', (SELECT group_concat(replace(integrity_check, ' ', '_')) FROM pragma_integrity_check), count(*), coalesce(max(n), 0),
  (SELECT count(*) FROM records r LEFT JOIN records p ON p.n = r.n - 1 WHERE r.sum <> hex(sha3(coalesce(p.sum, '') || r.n || r.body, 256)))
  FROM records" || exit 1
writer=$(cat /proc/sys/kernel/random/uuid)
record="INSERT INTO records SELECT n + 1, body, hex(sha3(sum || (n + 1) || body, 256)) FROM (SELECT n, sum, hex(sha3('$writer' || n, 512)) AS body FROM (SELECT n, sum FROM records UNION ALL SELECT 0, '' ORDER BY n DESC LIMIT 1));
SELECT 'stored', n, sum, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') FROM records ORDER BY n DESC LIMIT 1;"
while sleep 0.02; do echo "$record"; done | base &
wait
exit 1
`;

/** Puts SQLite, of this machine's own files, into a registry: it writes to `/data` until it is stopped. Answers the reference. */
export async function buildDatabaseImage(registry: string): Promise<string> {
  const program = await readFile(SQLITE).catch(() => undefined);
  if (!program) throw new Error(`${SQLITE} is missing: install sqlite3`);
  const { stdout } = await execute('ldd', [SQLITE]);
  const paths = Array.from(stdout.matchAll(/(\/\S+) \(0x/g), ([, path]) => path!);
  const libraries = await Promise.all(
    paths.map(async path => ({ path: path.slice(1), mode: 0o755, bytes: await readFile(path) })),
  );
  const entries = [
    { path: 'bin/', mode: 0o755, folder: true },
    { path: 'bin/busybox', mode: 0o755, bytes: await readBusybox() },
    ...['sh', 'cat', 'echo', 'sleep', 'test'].map(tool => ({ path: `bin/${tool}`, linkTo: 'busybox' })),
    { path: 'bin/sqlite3', mode: 0o755, bytes: program },
    { path: 'bin/write', mode: 0o755, bytes: Buffer.from(WRITE) },
    { path: 'tmp/', mode: 0o1777, folder: true },
    ...libraries,
  ] as const;
  const config = { Cmd: ['/bin/write'], Env: ['PATH=/bin'] };
  return pushImage(registry, { name: 'mooring/database', tag: '1', entries, config });
}

/** A record that was acknowledged, and when. */
export interface StoredRecord {
  readonly n: number;
  readonly sum: string;
  readonly at: number;
}

/** What was acknowledged, by the log of a container. A line that a kill has cut short acknowledges nothing. */
export function readStored(log: string): readonly StoredRecord[] {
  return Array.from(log.matchAll(/^stored (\d+) ([0-9A-F]{64}) (\S+Z)\n/gm), ([, n, sum, at]) => ({
    n: Number(n),
    sum: sum!,
    at: Date.parse(at!),
  }));
}

/** What a container has found when it began. */
export interface Opening {
  /** As `PRAGMA integrity_check` says it. */
  readonly integrity: string;
  readonly count: number;
  readonly last: number;
  /** Records whose checksum does not fit. */
  readonly broken: number;
}

/** What a container has said of the database when it opened it; undefined until it has. */
export function readOpening(log: string): Opening | undefined {
  const [, integrity = '', count, last, broken] = /^opened (\S+) (\d+) (\d+) (\d+)\n/m.exec(log) ?? [];
  if (count === undefined) return undefined;
  return { integrity, count: Number(count), last: Number(last), broken: Number(broken) };
}

/** Asks a database in a file of this machine, and answers what is printed. */
export async function askDatabase(file: string, question: string): Promise<string> {
  const { stdout } = await execute(SQLITE, ['-batch', '-bail', '-noheader', '-separator', ' ', file, question]);
  return stdout.trim();
}
