import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';

import { VolumeFault } from './driver.js';
import { ROOT_MODE } from './files.js';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * Opens a folder below `root`, which must be one that no workload can exchange. Each component is opened below the one before it, as openat(2) would,
 * and none may be a symbolic link: whatever a workload does meanwhile, what is opened is inside. Missing ones are made.
 */
export async function openBelow(root: string, subPath: string): Promise<FileHandle> {
  const components = subPath.split('/').filter(each => each !== '' && each !== '.');
  const isBad = (each: string) => each === '..' || Buffer.byteLength(each) > 255 || each.includes('\0');
  if (subPath.startsWith('/') || components.length > 64 || components.some(isBad)) {
    throw new VolumeFault('refused', 'the sub path leaves the volume or is too long; name a folder inside of it');
  }
  let folder = await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  for (const component of components) {
    const path = `/proc/self/fd/${folder.fd}/${component}`;
    const outer = folder;
    try {
      folder = await enter(path);
    } finally {
      await outer.close();
    }
  }
  return folder;
}

async function enter(path: string): Promise<FileHandle> {
  try {
    const isNew = await mkdir(path).then(() => true, ignoreExisting);
    const folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (isNew) await folder.chmod(ROOT_MODE);
    return folder;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== 'ELOOP' && code !== 'ENOTDIR') throw thrown;
    const message = 'the sub path leads over a symbolic link or a file; name a folder that has neither in its path';
    throw new VolumeFault('refused', message, { cause: thrown });
  }
}

function ignoreExisting(thrown: unknown): false {
  if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  return false;
}
