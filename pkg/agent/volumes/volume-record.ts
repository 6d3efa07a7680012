import { createDirectoryDisk, readStateFile } from '../disk.js';
import type { VolumeDriverName } from './driver.js';

const NAME = 'volume.json';

/** What is kept beside a volume. `from` is the size that it had, while it is not known that it could be changed. */
export interface VolumeRecord {
  /** What it is kept in: another driver would find it empty. */
  readonly driver: VolumeDriverName;
  readonly sizeBytes: number;
  readonly from?: number;
}

/** The record in the folder of a volume; undefined when there is none, and when it cannot be read. */
export function readRecord(folder: string): Promise<VolumeRecord | undefined> {
  const isSize = (size: unknown) => Number.isSafeInteger(size) && (size as number) > 0;
  return readStateFile<VolumeRecord>(
    createDirectoryDisk(folder),
    NAME,
    ({ driver, sizeBytes, from = sizeBytes }) => typeof driver === 'string' && isSize(sizeBytes) && isSize(from),
  );
}

export function writeRecord(folder: string, record: VolumeRecord): Promise<void> {
  return createDirectoryDisk(folder).write(NAME, JSON.stringify(record));
}
