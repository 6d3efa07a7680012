import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { Fault } from '../../fault/index.js';
import { createDirectoryDisk } from '../disk.js';
import { isAgentRunning } from '../membership/node-hold.js';
import type { ProcessTable } from '../process-table.js';
import { type ReplicationRecord, ReplicationRecords } from '../replication/record.js';
import { isPresent, syncFolder } from '../volumes/files.js';
import { dropNote, listRemoved, readVolumeId, toKeptPath } from '../volumes/removed-record.js';

/** A removed volume cannot be brought back, or not now. */
export class RestoreFault extends Fault {
  readonly retriable = false;
}

/** Where the agent of this machine keeps volumes, below its state folder. */
export const toVolumesPath = (stateDir: string): string => join(stateDir, 'volumes');

/**
 * Brings back a removed volume with all that it held, and what its agent knew of it; answers where. May be repeated after a crash. The agent
 * does not run meanwhile: it would not see what is changed here.
 */
export async function restoreRemoved(stateDir: string, name: string, processes?: ProcessTable): Promise<string> {
  const disk = createDirectoryDisk(stateDir);
  if (await isAgentRunning({ disk, processes })) {
    throw new RestoreFault('the agent of this state folder runs: stop it, restore, and start it again');
  }
  const root = toVolumesPath(stateDir);
  const removed = await listRemoved(root);
  const found = removed.find(each => each.name === name);
  const id = readVolumeId(name);
  if (!found || id === undefined) {
    const names = removed.map(each => each.name).join(', ');
    throw new RestoreFault(`no removed volume ${name} is kept here${names && `; these are: ${names}`}`);
  }
  const folder = join(root, id);
  if (await isPresent(folder)) {
    throw new RestoreFault(
      `${id} is on this machine already, as another copy: have it removed first, or copy files by hand`,
    );
  }
  if (found.replication) await restoreRecord(new ReplicationRecords(disk), id, found.replication as ReplicationRecord);
  await rename(toKeptPath(root, name), folder);
  await syncFolder(root);
  await dropNote(folder);
  return folder;
}

/** Before the bytes: with them there and no record, an agent could not know what they are. */
async function restoreRecord(records: ReplicationRecords, id: string, record: ReplicationRecord): Promise<void> {
  const known = await records.read(id);
  if (known && !isDeepStrictEqual(known, record)) {
    throw new RestoreFault(
      `the agent knows of another copy of ${id}: start it, so that it completes its removal, and try again`,
    );
  }
  await records.write(id, record);
}
