import { existsSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';

import { pathsOf } from './loop-image.js';
import { listLoopDevices } from './mounts.js';

const SECTOR_BYTES = 512;

/** The folder in which the kernel tells of the file system of each volume, while it is mounted: it is looked at every few seconds. */
const tellers = new Map<string, { readonly path: string; readonly space: string }>();

/**
 * Becomes another one with the first change after a commit, also with one that is only in memory yet: most begin a transaction, and
 * what is written to a file that is there has space set aside. Read without a thread for each: the kernel has both in memory. Undefined
 * while the volume is not mounted, and where the kernel does not tell.
 */
export async function readChangeMark(folder: string): Promise<string | undefined> {
  const known = tellers.get(folder) ?? (await findTeller(folder));
  const transaction = known && readKernel(`${known.path}/generation`);
  const reserved = known && readKernel(known.space);
  if (transaction !== undefined && reserved !== undefined) return `${transaction} ${reserved}`;
  tellers.delete(folder);
  return undefined;
}

async function findTeller(folder: string) {
  const uuid = await readUuid(pathsOf(folder).image).catch(() => undefined);
  if (uuid === undefined) return undefined;
  const path = `/sys/fs/btrfs/${uuid}`;
  const [mixed, data] = ['mixed', 'data'].map(layout => `${path}/allocation/${layout}/bytes_may_use`) as [
    string,
    string,
  ];
  const teller = { path, space: existsSync(mixed) ? mixed : data };
  tellers.set(folder, teller);
  return teller;
}

/** The device that each volume was last found at: a machine may have hundreds. */
const devices = new Map<string, string>();

/** What was written to the device of a volume since it was attached; undefined while it has none. */
export async function countWritten(folder: string): Promise<number | undefined> {
  const { image } = pathsOf(folder);
  let device = devices.get(folder);
  if (device === undefined || readKernel(`/sys/block/${device}/loop/backing_file`) !== image) {
    device = (await listLoopDevices()).find(({ file }) => file === image)?.device.slice('/dev/'.length);
    if (device === undefined) return undefined;
    devices.set(folder, device);
  }
  const counts = readKernel(`/sys/block/${device}/stat`);
  return counts === undefined ? undefined : Number(counts.split(/\s+/)[6]) * SECTOR_BYTES;
}

/** The volume is removed: what is made in its place later has a file system of its own, while this one may be held by others. */
export function forgetCounters(folder: string): void {
  tellers.delete(folder);
  devices.delete(folder);
}

/** Undefined when what it tells of is gone, and of what an earlier kernel does not tell. */
function readKernel(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Where the superblock of a btrfs has its id. */
const UUID_AT = 65_568;
const UUID_BYTES = 16;

async function readUuid(image: string): Promise<string> {
  const file = await open(image);
  try {
    const { buffer } = await file.read(Buffer.alloc(UUID_BYTES), 0, UUID_BYTES, UUID_AT);
    return buffer.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  } finally {
    await file.close();
  }
}
