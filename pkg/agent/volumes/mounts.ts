import { lstat, readdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** One line of /proc/self/mountinfo. */
export interface Mount {
  readonly path: string;
  /** Where what is mounted comes from: `/dev/loop3`. */
  readonly source: string;
  readonly type: string;
  /** Of this mount alone: `nosuid`. */
  readonly options: readonly string[];
}

/** What is mounted in the agent's view of the machine, in the order in which it was. */
export async function listMounts(): Promise<readonly Mount[]> {
  return (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').flatMap(readMount);
}

/** The last mount at a path: it hides those before it. */
export async function findMount(path: string): Promise<Mount | undefined> {
  return (await listMounts()).findLast(mount => mount.path === path);
}

/** Whether something is mounted at a path: judged by its device, since there may be hundreds of mounts and this is asked for often. */
export async function isMounted(path: string): Promise<boolean> {
  try {
    const [there, above] = await Promise.all([lstat(path), lstat(dirname(path))]);
    return there.dev !== above.dev;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw thrown;
  }
}

function readMount(line: string): readonly Mount[] {
  const [path = '', options = ''] = line.split(' ').slice(4, 6);
  const [type = '', source = ''] = line.split(' - ')[1]?.split(' ') ?? [];
  const unescape = (text: string) =>
    text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
  return path === '' ? [] : [{ path: unescape(path), type, source: unescape(source), options: options.split(',') }];
}

/** A loop device that has a file. The file of one that is gone ends in ` (deleted)`. */
interface LoopDevice {
  readonly device: string;
  readonly file: string;
}

/** The loop devices of the machine, from sysfs: with hundreds of them a program for each would be slow. */
export async function listLoopDevices(): Promise<readonly LoopDevice[]> {
  const names = (await readdir('/sys/block')).filter(name => name.startsWith('loop'));
  const found = await Promise.all(
    names.map(async name => {
      const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => undefined);
      return file === undefined ? [] : [{ device: `/dev/${name}`, file: file.replace(/\n$/, '') }];
    }),
  );
  return found.flat();
}
