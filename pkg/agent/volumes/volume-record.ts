import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { isTypedId } from '../../../crds/grammar/index.js';
import { createDirectoryDisk, ignoreMissing, readStateFile } from '../disk.js';
import type { VolumeDriverName } from './driver.js';
import { statIfPresent } from './files.js';

const NAME = 'volume.json';

/** What is kept beside a volume. `from` is the size that it had, while it is not known that it could be changed. */
export interface VolumeRecord {
  /** What it is kept in: another driver would find it empty. */
  readonly driver: VolumeDriverName;
  readonly sizeBytes: number;
  readonly from?: number;
}

/** Of each folder the record that was last read, and which file it was in: it is asked for often, and seldom another. */
const known = new Map<string, { readonly file: string; readonly record: VolumeRecord | undefined }>();

/** The record in the folder of a volume; undefined when there is none, and when it cannot be read. */
export async function readRecord(folder: string): Promise<VolumeRecord | undefined> {
  const found = await statIfPresent(join(folder, NAME));
  if (!found) return void known.delete(folder);
  const file = `${found.ino} ${found.mtimeMs} ${found.ctimeMs}`; // each write makes another file
  const before = known.get(folder);
  if (before?.file === file) return before.record;
  const record = await parseRecord(folder);
  known.set(folder, { file, record });
  return record;
}

/** The record of a volume that goes: it is not kept in mind. */
export async function takeRecord(folder: string): Promise<VolumeRecord | undefined> {
  const record = await readRecord(folder);
  known.delete(folder);
  return record;
}

function parseRecord(folder: string): Promise<VolumeRecord | undefined> {
  const isSize = (size: unknown) => Number.isSafeInteger(size) && (size as number) > 0;
  return readStateFile<VolumeRecord>(
    createDirectoryDisk(folder),
    NAME,
    ({ driver, sizeBytes, from = sizeBytes }) => typeof driver === 'string' && isSize(sizeBytes) && isSize(from),
  );
}

export async function writeRecord(folder: string, record: VolumeRecord): Promise<void> {
  await createDirectoryDisk(folder).write(NAME, JSON.stringify(record));
  known.delete(folder); // two writes may leave a file with the number and the times of the first
}

/** The volumes in a folder, in the order of their ids. Each has a folder of its own there. */
export async function listKeptIds(root: string): Promise<readonly string[]> {
  return (await listFolder(root)).filter(name => isTypedId('vol', name)).sort();
}

/** The names of all that is in a folder, which may not be there. */
export async function listFolder(root: string): Promise<readonly string[]> {
  return (await readdir(root).catch(ignoreMissing)) ?? [];
}
