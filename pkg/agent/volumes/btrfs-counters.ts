import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

import { buildVolumePaths } from './loop-image.js';
import { listLoopDevices } from './mounts.js';

const SECTOR_BYTES = 512;

/**
 * The files in which the kernel describes the file system of each volume, while it is mounted. They are read every few seconds and stay
 * open: to open and close them costs three times as much. What is unmounted is not kept by them.
 */
const tellers = new Map<string, readonly number[]>();

/**
 * Becomes another one with the first change after a commit, also with one that is only in memory yet: most begin a transaction, and
 * what is written to an existing file has space set aside. Read without a thread for each: the kernel has both in memory. Undefined
 * while the volume is not mounted, and where the kernel does not say.
 */
export async function readChangeMark(folder: string): Promise<string | undefined> {
  try {
    if (!tellers.has(folder)) openTellers(folder, await readUuid(buildVolumePaths(folder).image));
    return tellers.get(folder)?.map(readAgain).join(' ');
  } catch {
    forgetTellers(folder);
    return undefined;
  }
}

function openTellers(folder: string, uuid: string): void {
  if (tellers.has(folder)) return; // by another that has asked meanwhile
  const path = `/sys/fs/btrfs/${uuid}`;
  const layout = existsSync(`${path}/allocation/mixed`) ? 'mixed' : 'data';
  const files: number[] = [];
  tellers.set(folder, files);
  for (const name of ['generation', `allocation/${layout}/bytes_may_use`]) files.push(openSync(`${path}/${name}`, 'r'));
}

const line = Buffer.alloc(64);

function readAgain(file: number): string {
  return line.toString('latin1', 0, readSync(file, line, 0, line.length, 0)).trim();
}

function forgetTellers(folder: string): void {
  for (const file of tellers.get(folder) ?? []) closeSync(file);
  tellers.delete(folder);
}

/** The device that each volume was last found at: a machine may have hundreds. */
const devices = new Map<string, string>();

/** What was written to the device of a volume since it was attached; undefined while it has none. */
export async function countWritten(folder: string): Promise<number | undefined> {
  const { image } = buildVolumePaths(folder);
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
  forgetTellers(folder);
  devices.delete(folder);
}

/** Undefined when what it describes is gone, and for what an earlier kernel does not have. */
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
