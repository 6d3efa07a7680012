import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The folders that belong to one engine and to nothing else. */
export interface EnginePlaces {
  readonly data: string;
  readonly run: string;
}

/**
 * Ends what an engine has left behind: its containerd, the shims and processes of its containers, its mounts.
 *
 * A process counts as left behind only when its command line names the engine's own folder or its control group names
 * one of the engine's own containers.
 */
export async function sweepEngine({ data, run }: EnginePlaces): Promise<void> {
  const containers = await readdir(join(data, 'containers')).catch(() => []);
  for (const pid of await processes()) {
    const command = await readCommandLine(pid);
    const group = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    const ours = command.includes(`${run}/`) || containers.some(id => group.includes(id));
    if (ours && pid !== process.pid) endProcess(pid);
  }
  await releaseFolders([data, run]);
}

const execute = promisify(execFile);

/** Unmounts what is mounted below folders that are about to be removed: an engine's own, and volumes of an agent. */
export async function releaseFolders(folders: readonly string[]): Promise<void> {
  for (const path of await mountsBelow(folders)) {
    await execute('umount', ['--lazy', path]).catch(() => undefined); // gone with its process
  }
  for (const name of await readdir('/sys/block')) {
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '');
    if (folders.some(folder => file.startsWith(`${folder}/`))) await execute('losetup', ['--detach', `/dev/${name}`]);
  }
}

async function processes(): Promise<readonly number[]> {
  return (await readdir('/proc')).map(Number).filter(pid => pid > 0);
}

/** The command line of a process. Empty once it has ended, although its parent may not have collected it yet. */
export function readCommandLine(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
}

/** Ends a process, if it is still there. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
  }
}

/** The deepest first, because what is mounted inside goes before what it is mounted in. */
async function mountsBelow(folders: readonly string[]): Promise<readonly string[]> {
  const table = await readFile('/proc/self/mounts', 'utf8');
  const paths = table.split('\n').map(line => (line.split(' ')[1] ?? '').replaceAll('\\040', ' '));
  return paths
    .filter(path => folders.some(folder => `${path}/`.startsWith(`${folder}/`)))
    .toSorted((a, b) => b.length - a.length);
}
