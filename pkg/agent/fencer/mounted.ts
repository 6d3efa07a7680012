/** One mount of a process, as a line of its /proc/PID/mountinfo shows it. */
interface MountedPart {
  /** Of the file system: `8:1`. */
  readonly device: string;
  /** The part of that file system that is mounted: `/volumes/v1`. */
  readonly part: string;
  readonly path: string;
  readonly isWritable: boolean;
}

/** What a process has mounted. What cannot be understood is left out. */
export function parseMounts(mountinfo: string): readonly MountedPart[] {
  return mountinfo.split('\n').flatMap(line => {
    const [, , device, part, path, options] = line.split(' ');
    if (device === undefined || part === undefined || path === undefined || options === undefined) return [];
    const isWritable = options.split(',').includes('rw');
    return [{ device, part: unescape(part), path: unescape(path), isWritable }];
  });
}

/**
 * Whether a process with these mounts can write to a folder of the machine, and belongs to a container: it has a root of its own. Services of the
 * machine see the folder, too, and are none of ours. `machine` is what this process and the first one of the machine have mounted.
 */
export function canWrite(
  folder: string,
  own: readonly MountedPart[],
  machine: readonly (readonly MountedPart[])[],
): boolean {
  const root = findRoot(own);
  if (!root || machine.some(mounts => isSamePlace(findRoot(mounts), root))) return false;
  const places = machine.flatMap(mounts => locate(folder, mounts) ?? []);
  return own.some(
    mount =>
      mount.isWritable && places.some(({ device, part }) => mount.device === device && isWithin(mount.part, part)),
  );
}

/** Where the bytes of a folder are: the last mount above it hides the others. */
function locate(folder: string, mounts: readonly MountedPart[]): Pick<MountedPart, 'device' | 'part'> | undefined {
  const above = mounts.filter(({ path }) => isWithin(folder, path));
  const deepest = Math.max(...above.map(({ path }) => path.length));
  const mount = above.findLast(({ path }) => path.length === deepest);
  if (!mount) return undefined;
  const rest = folder.slice(mount.path === '/' ? 0 : mount.path.length);
  return { device: mount.device, part: `${mount.part === '/' ? '' : mount.part}${rest}` || '/' };
}

function findRoot(mounts: readonly MountedPart[]): MountedPart | undefined {
  return mounts.findLast(({ path }) => path === '/');
}

function isSamePlace(one: MountedPart | undefined, other: MountedPart): boolean {
  return one?.device === other.device && one.part === other.part;
}

function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}

/** The kernel writes blanks and backslashes of paths as octal numbers. */
function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}
