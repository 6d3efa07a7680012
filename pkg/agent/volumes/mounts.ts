import { readdir, readFile } from 'node:fs/promises';

/** One line of /proc/self/mountinfo. */
export interface Mount {
  readonly path: string;
  /** Where what is mounted comes from: `/dev/loop3`. */
  readonly source: string;
  readonly type: string;
}

/** What is mounted in the agent's view of the machine, in the order in which it was. */
export async function listMounts(): Promise<readonly Mount[]> {
  return (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').flatMap(readMount);
}

/** The last mount at a path: it hides those before it. */
export async function findMount(path: string): Promise<Mount | undefined> {
  return (await listMounts()).findLast(mount => mount.path === path);
}

function readMount(line: string): readonly Mount[] {
  const [path = '', type = '', source = ''] = [
    ...line.split(' ').slice(4, 5),
    ...(line.split(' - ')[1]?.split(' ') ?? []),
  ];
  const unescape = (text: string) =>
    text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
  return path === '' ? [] : [{ path: unescape(path), type, source: unescape(source) }];
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
