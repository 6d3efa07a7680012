import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, readdir, readlink, realpath, rmdir, stat } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { isDnsLabel, isTypedId } from '../../../crds/grammar/index.js';
import { createDirectoryDisk, type Disk, readStateFile } from '../disk.js';
import { VolumeFault } from './driver.js';
import { forbidRights, buildVolumePaths, pinFolder, unmountBelow } from './loop-image.js';
import { openBelow } from './sub-path.js';
import { SerialTasks } from './serial-tasks.js';
import { toVolumeFault } from './volume-checks.js';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

export interface BoundFoldersEnv {
  /** Folders whose direct subfolders may be volumes, in the order in which they are looked through. */
  readonly roots: readonly string[];
  /** The state folder of the agent, without links: no root may hold it or lie in it. */
  readonly stateDir: string;
  /** Only root can mount what was checked, and not what may be there by then. */
  readonly isRoot: boolean;
}

/** A volume of type bind, as it is assigned. */
interface BoundVolume {
  readonly id: string;
  readonly name: string;
  readonly isMade?: boolean;
}

interface FoundFolder {
  readonly folder: FileHandle;
  readonly path: string;
}

/** What is remembered of the folder that a volume has. No device: the kernel may renumber those when the machine starts. */
interface KnownFolder {
  readonly path: string;
  readonly inode: string;
}

/**
 * Volumes of type bind: folders that the operator of the machine has put below one of the roots that the agent was started with, each under
 * the name of its volume. A tenant names no path. No folder is made, none is removed, and none is looked into.
 */
export class BoundFolders {
  static readonly limits =
    'It is a folder that the operator of its node has made, and its files stay when the volume is deleted. Its size is neither enforced nor measured, and it has no copies and no snapshots.';
  readonly #env: BoundFoldersEnv;
  readonly #turns = new SerialTasks();
  /** Which folder each volume has. */
  readonly #known: Disk;

  constructor(env: BoundFoldersEnv) {
    this.#env = env;
    this.#known = createDirectoryDisk(join(env.stateDir, 'binds'));
  }

  /** Throws when the volume cannot be mounted here. */
  check(volume: BoundVolume): Promise<void> {
    return this.#turns.run(volume.id, async () => {
      const { folder } = await this.#open(volume);
      await folder.close();
    });
  }

  /** What a container mounts: the folder as it is found now, or one below it, whatever is put in its place afterwards. */
  mountPoint(volume: BoundVolume, subPath = ''): Promise<string> {
    return this.#turns.run(volume.id, async () => {
      const { folder, path } = await this.#open(volume);
      let inner: FileHandle | undefined;
      try {
        inner = subPath === '' ? undefined : await openBelow(`/proc/self/fd/${folder.fd}/.`, subPath);
        const pin = await pinFolder(this.#ownFolder(volume.id), join(path, subPath), (inner ?? folder).fd);
        await forbidRights(pin);
        return pin;
      } catch (thrown) {
        throw toVolumeFault(thrown);
      } finally {
        await inner?.close();
        await folder.close();
      }
    });
  }

  /** Lets go of the folder, which stays as it is. */
  release(id: string): Promise<void> {
    return this.#turns.run(id, async () => {
      const own = this.#ownFolder(id);
      const { pins } = buildVolumePaths(own);
      try {
        await unmountBelow(pins);
        // Never with what is in them: a mount that is still there would be emptied.
        for (const pin of await readdir(pins)) await rmdir(join(pins, pin));
        await rmdir(pins);
        await rmdir(own);
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw toVolumeFault(thrown);
      }
      await this.#known.remove(toFileName(id));
    });
  }

  #ownFolder(id: string): string {
    return join(this.#env.stateDir, 'binds', checkId(id));
  }

  async #open({ id, name, isMade }: BoundVolume): Promise<FoundFolder> {
    const { roots, isRoot } = this.#env;
    if (!isDnsLabel(name)) throw new VolumeFault('refused', 'that cannot name a folder; use a DNS label');
    if (roots.length === 0) {
      const message = 'this node lets no folder of its machine be a volume';
      throw new VolumeFault('refused', `${message}; start its agent with --bind-root, or name another node`);
    }
    if (!isRoot) {
      const message = 'an agent that is not root cannot mount a folder of its machine safely';
      throw new VolumeFault('refused', `${message}; start it as root, or use a volume of type volume`);
    }
    let isOther = false;
    for (const root of roots) {
      const found = await this.#openBelowRoot(root, name);
      if (!found) continue;
      if (await this.#isOwn(id, found)) return found;
      isOther = true;
    }
    if (isOther) {
      const message = `the folder ${name} below a --bind-root is not the one that the volume had`;
      const accept = 'accept this one: remove the file of the volume from binds in the state folder of the agent';
      // A volume that counts as made stays on its node without being missed, and then this reason is shown.
      const why = isMade ? 'refused' : 'not_found';
      throw new VolumeFault(why, `${message}; mount the disk that holds it, or ${accept}`);
    }
    const message = `there is no folder ${name} below a --bind-root of this node`;
    const remedy = isMade ? 'mount the disk that holds it' : 'make it on the machine, or name another node';
    throw new VolumeFault(isMade ? 'not_found' : 'refused', `${message}; ${remedy}`);
  }

  /** Whether a folder is the one that the volume has. The first that is found is, from then on; another one is closed. */
  async #isOwn(id: string, { folder, path }: FoundFolder): Promise<boolean> {
    let isOwn = false;
    try {
      const file = toFileName(id);
      const seen = { path, inode: String((await folder.stat({ bigint: true })).ino) };
      const isSound = (known: Partial<KnownFolder>) => Boolean(known.path && known.inode);
      const known = await readStateFile<KnownFolder>(this.#known, file, isSound);
      if (!known) await this.#known.write(file, JSON.stringify(seen));
      isOwn = !known || isDeepStrictEqual(known, seen);
      return isOwn;
    } catch (thrown) {
      throw toVolumeFault(thrown);
    } finally {
      if (!isOwn) await folder.close();
    }
  }

  async #openBelowRoot(root: string, name: string): Promise<FoundFolder | undefined> {
    const real = await realpath(root).catch(() => undefined);
    if (real === undefined) return undefined; // its disk may be away
    const problem = await findBadRoot([real], this.#env.stateDir);
    if (problem) throw new VolumeFault('refused', `a --bind-root of this node ${problem.why}`);
    const path = join(real, name);
    const folder = await openEntry(real, name);
    if (!folder) return undefined;
    // The name that the kernel has for what was opened: nothing that was exchanged on the way passes.
    if ((await readlink(`/proc/self/fd/${folder.fd}`)) === path) return { folder, path };
    await folder.close();
    throw new VolumeFault('failed', `the folder ${name} was moved while it was opened; it is tried again`);
  }
}

function checkId(id: string): string {
  if (isTypedId('vol', id)) return id;
  throw new VolumeFault('refused', 'that is not the id of a volume; use vol_…');
}

function toFileName(id: string): string {
  return `${checkId(id)}.json`;
}

async function openEntry(root: string, name: string): Promise<FileHandle | undefined> {
  const outer = await openFolder(root);
  try {
    return outer && (await openFolder(`/proc/self/fd/${outer.fd}/${name}`));
  } finally {
    await outer?.close();
  }
}

/** Opens a folder; undefined when there is nothing. A link is not followed: it could lead anywhere. */
async function openFolder(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== 'ELOOP' && code !== 'ENOTDIR') throw toVolumeFault(thrown);
    const message = 'what has the name of the volume below a --bind-root is a symbolic link or a file';
    throw new VolumeFault('refused', `${message}; put a folder there, or mount one there`, { cause: thrown });
  }
}

/** Why a folder cannot be a root: what it holds must not be the agent’s own, nor that of another root. Paths are without links. */
export function explainBadRoot(root: string, others: readonly string[], stateDir: string): string | undefined {
  if (!isAbsolute(root)) return 'is not an absolute path';
  const isInside = (inner: string, outer: string) => {
    const way = relative(outer, inner);
    return way !== '..' && !way.startsWith('../');
  };
  const isNear = (other: string) => isInside(root, other) || isInside(other, root);
  if (isNear(stateDir)) return 'holds the state folder of the agent, or lies in it';
  return others.some(isNear) ? 'holds another one, or lies in it' : undefined;
}

/** Why others than root decide what the volumes of a root show; undefined when they do not. */
export function explainOpenRoot(
  { uid, mode }: Pick<Stats, 'uid' | 'mode'>,
  own = process.getuid?.(),
): string | undefined {
  if (uid !== 0 && uid !== own) return 'belongs to another user than root, who could exchange its folders';
  return (mode & 0o022) === 0 ? undefined : 'can be written to by others than root, who could exchange its folders';
}

/** The first root that must not be used, and why. One that is not there is judged when it is: its disk may be away. */
export async function findBadRoot(
  roots: readonly string[],
  stateDir: string,
): Promise<{ readonly root: string; readonly why: string } | undefined> {
  const paths = await Promise.all(
    roots.map(async root => (isAbsolute(root) ? realpath(root).catch(() => root) : root)),
  );
  for (const [index, root] of roots.entries()) {
    const path = paths[index]!;
    const bad = explainBadRoot(path, paths.toSpliced(index, 1), stateDir);
    if (bad !== undefined) return { root, why: `${bad}; choose another folder` };
    const found = await stat(path).catch(() => undefined);
    const open = found && explainOpenRoot(found);
    if (open !== undefined) return { root, why: `${open}; give it to root and "chmod go-w", or choose another folder` };
  }
  return undefined;
}
