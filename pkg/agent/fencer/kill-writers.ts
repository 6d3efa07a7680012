import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

import { canWrite, parseMounts } from './mounted.js';

const readMounts = (pid: string) => parseMounts(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'));

/**
 * Kills the processes of every container that can write to one of the folders; answers how many there were.
 *
 * The engine is not asked: it may be what hangs. A process that is born meanwhile is found the next time.
 */
export function killWriters(folders: readonly string[]): number {
  const machine = [readMounts('self'), ...attempt(() => [readMounts('1')], [])];
  let count = 0;
  for (const pids of groupByNamespace()) {
    const [own = []] = [...pids].map(pid => attempt(() => readMounts(pid), [])).filter(mounts => mounts.length > 0);
    if (!folders.some(folder => canWrite(folder, own, machine))) continue;
    for (const pid of pids) count += attempt(() => Number(process.kill(Number(pid), 'SIGKILL')), 0);
  }
  return count;
}

/** The processes of the machine, together with those that see the same mounts. */
function groupByNamespace(): Iterable<readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    const namespace = attempt(() => readlinkSync(`/proc/${pid}/ns/mnt`), undefined);
    if (namespace === undefined) continue;
    groups.set(namespace, [...(groups.get(namespace) ?? []), pid]);
  }
  return groups.values();
}

/** A process may end while it is looked at. */
function attempt<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch {
    return otherwise;
  }
}
