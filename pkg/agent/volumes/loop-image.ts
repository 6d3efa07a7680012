import { createHash } from 'node:crypto';
import { rename, rm, stat, statfs, truncate } from 'node:fs/promises';
import { join } from 'node:path';

import { failpoint } from '../../failpoint/index.js';
import { isPresent, makePrivateFolder, statIfPresent, syncFolder } from './files.js';
import { findMount, isMounted, listLoopDevices, listMounts } from './mounts.js';
import { runLongTool, runTool } from './run-tool.js';

/** Nothing is a device or gains rights. */
const NO_RIGHTS = ['nosuid', 'nodev'] as const;
/** Also, reads cause no writes, and freed blocks stay the image's own. */
const OPTIONS = `noatime,nodiscard,${NO_RIGHTS.join(',')}`;

/** The paths of a volume. `store` shows the whole file system to the driver, `mount` the workload's files alone. */
export function buildVolumePaths(folder: string) {
  return {
    image: join(folder, 'image'),
    store: join(folder, 'store'),
    mount: join(folder, 'mount'),
    pins: join(folder, 'pins'),
  };
}

/**
 * Below this, data and metadata share their space; above, mkfs sets some aside for metadata, which it does for `dup` only. Otherwise data
 * takes all of it, and a volume that was full once could not be written to again, however much was removed.
 */
const SMALL_BYTES = 2 ** 30;

const toDraftPath = (image: string) => `${image}.new`;

/** What the image of a volume lacks of a size. What a killed process has left of a draft is given back first. */
export async function countMissing(folder: string, sizeBytes: number): Promise<number> {
  const { image } = buildVolumePaths(folder);
  const taken = (await statIfPresent(image))?.size ?? ((await statIfPresent(toDraftPath(image)))?.blocks ?? 0) * 512;
  return Math.max(0, sizeBytes - taken);
}

/**
 * Makes the image, or makes it longer. Its blocks are all taken from the machine now, so that a write inside of it can never find
 * the machine's disk full.
 */
export async function takeSpace(folder: string, sizeBytes: number): Promise<void> {
  const { image } = buildVolumePaths(folder);
  const made = await statIfPresent(image);
  if (!made) return makeImage(folder, sizeBytes);
  await grow(image, made.size, sizeBytes);
  failpoint('volume.image_grown');
}

async function makeImage(folder: string, sizeBytes: number): Promise<void> {
  const { image } = buildVolumePaths(folder);
  const draft = toDraftPath(image);
  await rm(draft, { force: true });
  try {
    await runTool('fallocate', '--length', String(sizeBytes), '--', draft);
    const layout = sizeBytes < SMALL_BYTES ? ['--mixed', '--metadata', 'single'] : ['--metadata', 'dup'];
    await runTool('mkfs.btrfs', '--quiet', '--nodiscard', ...layout, '--data', 'single', '--', draft);
  } catch (thrown) {
    await rm(draft, { force: true });
    throw thrown;
  }
  failpoint('volume.formatted');
  await rename(draft, image);
  await syncFolder(folder);
}

/** The loop device of an image, attached if it was not. */
async function attach(image: string): Promise<string> {
  const attached = (await listLoopDevices()).find(({ file }) => file === image);
  if (attached) return attached.device;
  return (await runTool('losetup', '--find', '--show', '--nooverlap', '--', image)).trim();
}

/** Mounts the whole file system for the driver. No symbolic link on it is followed. */
export async function mountStore(folder: string): Promise<void> {
  const { image, store } = buildVolumePaths(folder);
  if (await isMounted(store)) return;
  await makePrivateFolder(store);
  const device = await attach(image);
  failpoint('volume.attached');
  await runTool('mount', '-t', 'btrfs', '-o', `${OPTIONS},noexec,nosymfollow`, '--', device, store);
}

/** Mounts a subvolume where workloads find it. */
export async function mountSubvolume(folder: string, subvolume: string): Promise<void> {
  const { store, mount } = buildVolumePaths(folder);
  if (await isMounted(mount)) return;
  await makePrivateFolder(mount);
  const device = (await findMount(store))?.source ?? '';
  await runTool('mount', '-t', 'btrfs', '-o', `${OPTIONS},subvol=${subvolume}`, '--', device, mount);
}

/** Brings image and file system to a size that the image has or exceeds, while they are in use. */
export async function ensureSize(folder: string, sizeBytes: number): Promise<void> {
  const { image, store } = buildVolumePaths(folder);
  const { size: imageBytes } = await stat(image);
  const { blocks, bsize } = await statfs(store);
  if (imageBytes === sizeBytes && blocks * bsize === sizeBytes) return;
  const device = (await findMount(store))?.source ?? '';
  // It waits for one that a killed agent has begun.
  const resize = (size: string) => runLongTool('btrfs', 'filesystem', 'resize', '--enqueue', size, store);
  if (blocks * bsize > sizeBytes) await resize(String(sizeBytes));
  if (imageBytes > sizeBytes) {
    failpoint('volume.shrunk');
    await truncate(image, sizeBytes);
    await runTool('losetup', '--set-capacity', device);
  }
  if (blocks * bsize < sizeBytes) {
    await runTool('losetup', '--set-capacity', device);
    await resize('max');
  }
}

async function grow(image: string, from: number, to: number): Promise<void> {
  try {
    await runTool('fallocate', '--length', String(to), '--', image);
  } catch (thrown) {
    await truncate(image, from);
    throw thrown;
  }
}

/** Unmounts everything below a folder of the volume, the last first. */
export async function unmountBelow(path: string): Promise<void> {
  const mounts = (await listMounts()).filter(mount => mount.path === path || mount.path.startsWith(`${path}/`));
  for (const mount of mounts.reverse()) await runTool('umount', '--', mount.path);
}

/** Detaches the devices of an image, which may have none. One that a container still holds goes with the container. */
export async function detach(image: string): Promise<void> {
  for (const { device, file } of await listLoopDevices()) {
    if (file === image || file === `${image} (deleted)`) await runTool('losetup', '--detach', device);
  }
}

/** Detaches the devices of images below a folder that were removed. What cannot be detached now is tried at the next start. */
export async function detachRemoved(root: string): Promise<void> {
  for (const { device, file } of await listLoopDevices()) {
    if (!file.startsWith(`${root}/`)) continue;
    const isGone = file.endsWith(' (deleted)') || !(await isPresent(file));
    if (isGone) await runTool('losetup', '--detach', device).catch(() => undefined);
  }
}

/** Mounts an open folder of a volume beside it, where no workload can put anything else in its place; answers where. */
export async function pinFolder(folder: string, path: string, descriptor: number): Promise<string> {
  const target = join(buildVolumePaths(folder).pins, createHash('sha256').update(path).digest('hex').slice(0, 32));
  await bind(descriptor, target);
  return target;
}

/** Makes sure that nothing below a mount is a device or gains rights, also where a killed agent has not come to it. */
export async function forbidRights(target: string): Promise<void> {
  const { options = [] } = (await findMount(target)) ?? {};
  if (NO_RIGHTS.every(option => options.includes(option))) return;
  await runTool('mount', '-o', `remount,bind,${NO_RIGHTS.join(',')}`, '--', target);
}

/**
 * Mounts a folder that is open as a descriptor of this process at `target`, unless it is there already. The path that it was opened by
 * is not looked at again: by now a workload could have put something else there.
 */
async function bind(descriptor: number, target: string): Promise<void> {
  const source = `/proc/${process.pid}/fd/${descriptor}`;
  await makePrivateFolder(target);
  const [wanted, found] = await Promise.all([stat(source), stat(target)]);
  if (wanted.dev === found.dev && wanted.ino === found.ino) return;
  await unmountBelow(target);
  await runTool('mount', '--no-canonicalize', '--bind', '--', source, target);
}
