import type { Stats } from 'node:fs';
import { lstat, mkdir, open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { failpoint } from '../../failpoint/index.js';
import { ignoreMissing } from '../disk.js';
import { runTool } from './run-tool.js';

/** What is at a path; undefined when nothing is. */
export async function statIfPresent(path: string): Promise<Stats | undefined> {
  return stat(path).catch(ignoreMissing);
}

/** Whether there is something at a path, symbolic links not followed. */
export async function isPresent(path: string): Promise<boolean> {
  return (await lstat(path).catch(ignoreMissing)) !== undefined;
}

/** Of the root of a volume: its workload may run as any user, and no other user reaches it. */
export const ROOT_MODE = 0o777;

/** A folder that only root, or the agent's user, can look into. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** Removes a folder with all that is in it, and nothing that is mounted there. */
export async function removeFolder(path: string): Promise<void> {
  await runTool('rm', '-rf', '--one-file-system', '--', path);
}

/** After this, what was renamed or removed in a folder is so after a power loss too. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Where the files of the workload are, inside of a folder, and where they are while they are replaced. */
const DATA = '.data';
const NEXT = '.next';
const OLD = '.old';

/** The three places of a volume's files. `next` is complete once `data` is gone. */
export function buildDataPaths(folder: string) {
  return { data: join(folder, DATA), next: join(folder, NEXT), old: join(folder, OLD) };
}

/** Puts `next` into the place of `data`. A crash in between is completed by `finishSwap`. */
export async function swap(folder: string, remove: (path: string) => Promise<void>): Promise<void> {
  const { data, old } = buildDataPaths(folder);
  failpoint('volume.promoting');
  await rename(data, old);
  failpoint('volume.swapping');
  await finishSwap(folder, remove);
}

/** Completes a swap, or takes back one that had not begun or cannot be completed. */
export async function finishSwap(folder: string, remove: (path: string) => Promise<void>): Promise<void> {
  const { data, next, old } = buildDataPaths(folder);
  const [isWhole, isReady, isLeft] = await Promise.all([data, next, old].map(isPresent));
  if (isWhole && isReady) await remove(next);
  if (!isWhole && isReady) await rename(next, data);
  if (!isWhole && !isReady && isLeft) return rename(old, data).then(() => syncFolder(folder));
  if (!isWhole || isLeft) await syncFolder(folder);
  if (isLeft) await remove(old);
}
