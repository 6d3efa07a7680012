import { asError } from '../../fault/index.js';
import { normaliseMessage } from '../normalise-message.js';
import { type DriverLimits, type LocalVolume, type VolumeDriverName, VolumeFault } from './driver.js';
import type { VolumeRecord } from './volume-record.js';

const MEBIBYTE = 2 ** 20;

/** The size that a volume gets: whole mebibytes, and no less than the driver can make. */
export function roundSize(sizeBytes: number, { minSizeBytes }: DriverLimits): number {
  return Math.ceil(Math.max(sizeBytes, minSizeBytes) / MEBIBYTE) * MEBIBYTE;
}

/** Throws when taking `moreBytes` of a disk would leave less than its reserve. */
export function checkReserve(moreBytes: number, disk: { readonly freeBytes: number; readonly reserveBytes: number }) {
  const { freeBytes, reserveBytes } = disk;
  if (freeBytes - moreBytes >= reserveBytes) return;
  // How much is free changes all the time, and each message that differs from the last is a write.
  const message = `the disk of the node would not keep its reserve of ${toMebibytes(reserveBytes)} MiB`;
  throw new VolumeFault('no_space', `${message}; free some space, or choose a smaller size or another node`);
}

/**
 * What a disk has for volumes, those that are there included: the control plane subtracts the sizes of all of them. Where a size takes
 * nothing beforehand, what is in them was taken (`usedBytes`). At least 1, since 0 means that it is not known.
 */
export function countRoom(
  disk: { readonly freeBytes: number; readonly reserveBytes: number; readonly usedBytes?: number },
  { enforcesSize }: Pick<DriverLimits, 'enforcesSize'>,
  volumes: readonly Pick<LocalVolume, 'sizeBytes'>[],
): number {
  const taken = enforcesSize ? volumes.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) : (disk.usedBytes ?? 0);
  return Math.max(1, disk.freeBytes + taken - disk.reserveBytes);
}

/** Throws when a volume cannot be shrunk to a size. */
export function checkShrink(sizeBytes: number, usedBytes: number, { shrinkFloorBytes }: DriverLimits) {
  if (sizeBytes < shrinkFloorBytes) {
    const floor = toMebibytes(shrinkFloorBytes);
    throw new VolumeFault('refused', `a volume cannot be shrunk below ${floor} MiB; choose that size or a larger one`);
  }
  if (usedBytes <= sizeBytes) return;
  const message = 'the volume holds more than the new size';
  throw new VolumeFault('refused', `${message}; remove files or snapshots first, or choose a larger size`);
}

/** How much a volume is shrunk by at once: what it holds is moved meanwhile, and nothing else can be done with it until that has ended. */
const SHRINK_STEP = 4 * 2 ** 30;

/** The size that a volume gets next on its way to another. */
export function stepSize(from: number, to: number): number {
  return Math.max(to, from - SHRINK_STEP);
}

/** The name of a snapshot, which becomes part of a path. */
export function checkSnapshotName(name: string): string {
  if (/^[0-9a-z](?:[0-9a-z-]{0,61}[0-9a-z])?$/.test(name)) return name;
  throw new VolumeFault('refused', 'that cannot name a snapshot; use lowercase letters, digits and inner hyphens');
}

/** The fault of a stream that is not taken. */
export function createStreamFault(why: string): VolumeFault {
  return new VolumeFault('bad_stream', `the stream is refused: ${why}; send it again from a sound copy`);
}

/** The record of a volume that is here, and that this driver made. */
export function checkRecord(record: VolumeRecord | undefined, driver: VolumeDriverName): VolumeRecord {
  if (!record) throwAbsent();
  if (record.driver === driver) return record;
  const message = `the volume was made by the driver ${record.driver}, and this node uses ${driver}`;
  throw new VolumeFault('refused', `${message}; start the agent with --volume-driver ${record.driver}`);
}

/** A volume that was made once is not found. */
export function throwLost(): never {
  const remedy = 'mount the disk that holds them and restart the agent';
  throw new VolumeFault('not_found', `the bytes of the volume are not on this node any more; ${remedy}`);
}

function throwAbsent(): never {
  throw new VolumeFault('not_found', 'the volume is not on this node; materialise it first');
}

/** What was thrown, as callers get it: without paths, ids and times. */
export function toVolumeFault(thrown: unknown): VolumeFault {
  if (thrown instanceof VolumeFault) return thrown;
  const { code = '', syscall = 'a step' } = thrown as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new VolumeFault('no_space', 'there is no space left; free some, or grow the volume', { cause: thrown });
  }
  const said = code === '' ? normaliseMessage(asError(thrown).message) : code;
  return new VolumeFault('failed', `${syscall} failed: ${said}; see the disk of this node`, { cause: thrown });
}

export function throwVolumeFault(thrown: unknown): never {
  throw toVolumeFault(thrown);
}

function toMebibytes(bytes: number): number {
  return Math.floor(bytes / MEBIBYTE);
}
