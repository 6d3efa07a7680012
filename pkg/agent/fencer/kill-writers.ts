import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

import { canWrite, parseMounts } from './mounted.js';

/** The processes that see the same mounts. */
interface ProcessGroup {
  /** Of the kernel, for these mounts. */
  readonly namespace: string;
  readonly pids: readonly string[];
}

const readMounts = (pid: string) => parseMounts(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'));
const readNamespace = (pid: string) => attempt(() => readlinkSync(`/proc/${pid}/ns/mnt`), undefined);

/**
 * Kills the processes of containers that can write to a folder.
 *
 * The engine is not asked: it may be what hangs. A process that is born meanwhile is found the next time.
 */
export class WriterKiller {
  #known: ReadonlyMap<string, readonly ProcessGroup[]> = new Map();

  /** Looks who can write to each folder now. */
  remember(folders: readonly string[]): void {
    this.#known = findWriters(folders);
  }

  /**
   * Kills what can write to the folders; answers how many processes there were. Those that are remembered come first: on a machine that stood still
   * they go on at this moment, and to look for them takes longer than they need for a record.
   */
  kill(folders: readonly string[]): number {
    const killed = new Set<string>();
    for (const folder of folders) killGroups(this.#known.get(folder) ?? [], killed);
    const found = findWriters(folders);
    this.#known = new Map([...this.#known, ...found]);
    for (const groups of found.values()) killGroups(groups, killed);
    return killed.size;
  }
}

function killGroups(groups: readonly ProcessGroup[], killed: Set<string>): void {
  for (const { namespace, pids } of groups) {
    // A number may be of another process by now.
    for (const pid of pids.filter(each => readNamespace(each) === namespace)) {
      if (attempt(() => process.kill(Number(pid), 'SIGKILL'), false)) killed.add(pid);
    }
  }
}

function findWriters(folders: readonly string[]): ReadonlyMap<string, readonly ProcessGroup[]> {
  const machine = [readMounts('self'), ...attempt(() => [readMounts('1')], [])];
  const found = new Map<string, ProcessGroup[]>(folders.map(folder => [folder, []]));
  for (const group of listGroups()) {
    const [own = []] = group.pids.map(pid => attempt(() => readMounts(pid), [])).filter(mounts => mounts.length > 0);
    for (const folder of folders) if (canWrite(folder, own, machine)) found.get(folder)!.push(group);
  }
  return found;
}

/** The processes of the machine, together with those that see the same mounts. */
function listGroups(): readonly ProcessGroup[] {
  const groups = new Map<string, string[]>();
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    const namespace = readNamespace(pid);
    if (namespace === undefined) continue;
    groups.set(namespace, [...(groups.get(namespace) ?? []), pid]);
  }
  return Array.from(groups, ([namespace, pids]) => ({ namespace, pids }));
}

/** A process may end while it is looked at. */
function attempt<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch {
    return otherwise;
  }
}
