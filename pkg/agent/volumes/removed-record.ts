import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { isTypedId } from '../../../crds/grammar/index.js';
import { createDirectoryDisk, readStateFile } from '../disk.js';
import type { RemovedAbout } from './driver.js';
import { listFolder } from './volume-record.js';

const NOTE = 'removed.json';
const KEPT = '.removed-';
const DELETED = '.deleted-';

/** What is kept in the folder of a removed volume, beside its bytes. */
export interface RemovedNote extends Partial<RemovedAbout> {
  /** For how long it was kept, as far as that counts. */
  readonly keptMs: number;
  /** What it takes of the disk; left out until it is measured. */
  readonly bytes?: number;
}

/** A volume whose bytes are still there. */
export interface RemovedRecord extends RemovedNote {
  /** `vol_….1`: a copy that was removed may be made and removed again. */
  readonly name: string;
}

/** Where a removed volume is kept. */
export const toKeptPath = (root: string, name: string): string => join(root, `${KEPT}${name}`);

/** Where it is while it is deleted: it may lack anything by then. */
export const toDeletedPath = (root: string, name: string): string => join(root, `${DELETED}${name}`);

/** The volume that a name belongs to; undefined where it is none. */
export function readVolumeId(name: string): string | undefined {
  const [, id = ''] = /^([^.]+)\.[1-9]\d{0,8}$/.exec(name) ?? [];
  return isTypedId('vol', id) ? id : undefined;
}

const listAs = async (root: string, prefix: string): Promise<readonly string[]> =>
  (await listFolder(root))
    .filter(entry => entry.startsWith(prefix))
    .map(entry => entry.slice(prefix.length))
    .filter(name => readVolumeId(name) !== undefined)
    .toSorted();

/** The removed volumes whose deletion has begun. */
export const listDeleted = (root: string): Promise<readonly string[]> => listAs(root, DELETED);

/** A name that nothing has which is left of the volume. */
export async function chooseName(root: string, id: string): Promise<string> {
  const taken = [...(await listAs(root, KEPT)), ...(await listAs(root, DELETED))].filter(
    name => readVolumeId(name) === id,
  );
  return `${id}.${1 + Math.max(0, ...taken.map(name => Number(name.slice(id.length + 1))))}`;
}

/** The removed volumes that are kept, the one that was for the longest time first. */
export async function listRemoved(root: string): Promise<readonly RemovedRecord[]> {
  const found = await Promise.all((await listAs(root, KEPT)).map(name => readRemoved(root, name)));
  return found.toSorted((one, other) => other.keptMs - one.keptMs);
}

/** What cannot be read counts from the beginning: it is kept longer. */
export async function readRemoved(root: string, name: string): Promise<RemovedRecord> {
  const isAmount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  const note = await readStateFile<RemovedNote>(
    createDirectoryDisk(toKeptPath(root, name)),
    NOTE,
    ({ keptMs, bytes = 0, volume = '', replication = {} }) =>
      isAmount(keptMs) && isAmount(bytes) && typeof volume === 'string' && typeof replication === 'object',
  );
  return { keptMs: 0, ...note, name };
}

/** Writes the note into the folder of a volume. */
export async function writeNote(folder: string, { keptMs, bytes, volume, replication }: RemovedNote): Promise<void> {
  const note = { keptMs, bytes, volume, replication };
  await createDirectoryDisk(folder).write(NOTE, JSON.stringify(note));
}

/** The note of a volume that was removed before, and brought back. */
export async function dropNote(folder: string): Promise<void> {
  await rm(join(folder, NOTE), { force: true });
}
