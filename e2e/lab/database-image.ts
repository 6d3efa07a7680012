import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { pushImage, readBusybox } from '../../dev/processes/index.js';
import { NOBODY, postgresFolders } from './postgres.js';

const execute = promisify(execFile);

/** The folder of the database on its volume. */
export const DATABASE = 'base';

/** What PostgreSQL loads when a database is made and while it is checked. */
const MODULES = ['plpgsql.so', 'dict_snowball.so', 'amcheck.so'];
const SHARED = ['', 'timezonesets', 'tsearch_data', 'extension'];
const EXTENSIONS = /^(?:plpgsql|amcheck)[-.]/;

/**
 * Checks what it finds, says so, and goes on: numbered records, each with the checksum of the one before it, of its number and of its
 * body. One that is committed is acknowledged with a line, which is kept outside of the volume. PostgreSQL is as it is delivered, but for its sizes.
 */
const WRITE = `#!/bin/sh
base=/data/${DATABASE}
cd /tmp
if [ ! -e $base ]; then
  rm -rf $base.new
  initdb -D $base.new -U postgres --data-checksums --wal-segsize=1 --locale=C --encoding=UTF8 --auth=trust >/dev/null || exit 1
  mv $base.new $base
fi
rm -f $base/postmaster.pid # of a container that was lost: its number is of another process here
postgres -D $base -k /tmp -c listen_addresses= -c shared_buffers=16MB -c max_wal_size=32MB &
server=$!
trap 'kill -INT $server; wait $server; exit 0' TERM INT
until psql -c 'SELECT 1' >/dev/null 2>&1; do kill -0 $server || exit 1; sleep 0.1; done
ask() { psql -XqAt -F ' ' -v ON_ERROR_STOP=1 "$@"; }
ask -o /dev/null -c "SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE TABLE IF NOT EXISTS records (n bigint PRIMARY KEY, body text NOT NULL, sum text NOT NULL);
CREATE OR REPLACE FUNCTION seal(text) RETURNS text LANGUAGE sql AS 'SELECT upper(encode(sha256(convert_to(\\$1, ''UTF8'')), ''hex''))';
SELECT bt_index_check('records_pkey', true);" || exit 1
ask -c "SELECT 'opened', CASE WHEN EXISTS (SELECT FROM verify_heapam('records')) THEN 'corrupt' ELSE 'ok' END, count(*), coalesce(max(n), 0),
  count(*) FILTER (WHERE sum <> seal(coalesce(before, '') || n || body)) FROM (SELECT *, lag(sum) OVER (ORDER BY n) AS before FROM records) chain" || exit 1
writer=$(cat /proc/sys/kernel/random/uuid)
record="INSERT INTO records SELECT n + 1, body, seal(sum || (n + 1) || body) FROM (SELECT n, sum, seal('$writer' || n) AS body FROM (SELECT n, sum FROM records UNION ALL SELECT 0, '' ORDER BY n DESC LIMIT 1) last) next;
SELECT 'stored', n, sum, to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\\"T\\"HH24:MI:SS.MS\\"Z\\"') FROM records ORDER BY n DESC LIMIT 1;"
while sleep 0.02; do echo "$record"; done | ask &
wait $!
exit 1
`;

/** Puts PostgreSQL, of this machine's own files, into a registry: it writes to `/data` until it is stopped. Answers the reference. */
export async function buildDatabaseImage(registry: string): Promise<string> {
  const { programs, libraries, shared } = postgresFolders;
  const binaries = ['postgres', 'initdb', 'psql'].map(name => join(programs, name));
  const { stdout } = await execute('ldd', binaries);
  const loaded = Array.from(stdout.matchAll(/(\/\S+) \(0x/g), ([, path]) => path!);
  const read = await Promise.all(SHARED.map(folder => listFiles(join(shared, folder), folder === 'extension')));
  const paths = new Set([
    ...binaries,
    ...loaded,
    ...MODULES.map(name => join(libraries, name)),
    ...read.flat(),
    '/usr/share/zoneinfo/UTC',
  ]);
  const toEntry = async (path: string) => ({ path: path.slice(1), mode: 0o755, bytes: await readFile(path) });
  const entries = [
    { path: 'bin/', mode: 0o755, folder: true },
    { path: 'bin/busybox', mode: 0o755, bytes: await readBusybox() },
    ...['sh', 'cat', 'echo', 'sleep', 'test', 'mv', 'rm'].map(tool => ({ path: `bin/${tool}`, linkTo: 'busybox' })),
    { path: 'bin/write', mode: 0o755, bytes: Buffer.from(WRITE) },
    { path: 'etc/passwd', mode: 0o644, bytes: Buffer.from(`nobody:x:${NOBODY}:${NOBODY}::/tmp:/bin/sh\n`) },
    { path: 'tmp/', mode: 0o1777, folder: true },
    ...(await Promise.all(Array.from(paths, toEntry))),
  ] as const;
  const own = { PGHOST: '/tmp', PGUSER: 'postgres', PGDATABASE: 'postgres', TZ: 'UTC' };
  const Env = Object.entries({ PATH: `${programs}:/bin`, ...own }).map(([name, value]) => `${name}=${value}`);
  return pushImage(registry, {
    name: 'mooring/database',
    tag: '1',
    entries,
    config: { Cmd: ['/bin/write'], Env, User: `${NOBODY}:${NOBODY}` },
  });
}

async function listFiles(folder: string, isSelected: boolean): Promise<readonly string[]> {
  const found = await readdir(folder, { withFileTypes: true });
  const files = found.filter(each => !each.isDirectory() && (!isSelected || EXTENSIONS.test(each.name)));
  return files.map(({ name }) => join(folder, name));
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
  /** `ok` when the pages and the index of the table are sound. */
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
