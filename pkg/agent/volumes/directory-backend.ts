import { chmod, mkdir, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { Backend } from './backend.js';
import { receiveFolder } from './directory-receive.js';
import { isOther, lacksOlder, recogniseOlder, sendFolder } from './directory-send.js';
import { type DriverLimits, VolumeFault } from './driver.js';
import { finishSwap, isPresent, makePrivateFolder, buildDataPaths, ROOT_MODE, swap, syncFolder } from './files.js';
import { pinFolder, unmountBelow } from './loop-image.js';
import { runConfined, runLongTool, runTool } from './run-tool.js';

const limits: DriverLimits = {
  enforcesSize: false,
  snapshotsOnline: false,
  minSizeBytes: 2 ** 20,
  shrinkFloorBytes: 2 ** 20,
  limits: [
    'The size is measured and not enforced: a workload can fill the disk of its node.',
    'A snapshot is a copy: stop the workload while it is taken, and count its size again.',
    'Changes are noticed by the sizes and times of files: what a workload writes through a memory map may be noticed late.',
    'Where the agent may not mount, or Linux (before 5.10) or its program mount does not know nosymfollow, a workload can have files of the machine copied into a snapshot.',
    'Copies on other nodes have no devices, sockets and pipes, no extended attributes and no setuid bits.',
  ],
};

const remove = async (path: string): Promise<void> => {
  await runTool('rm', '-rf', '--one-file-system', '--', path);
};

/** How a program has failed, as `execFile` reports it. */
interface ProgramEnd {
  readonly code?: unknown;
  readonly signal?: unknown;
  readonly killed?: boolean;
  readonly stderr?: string;
}

/** Whether `cp` has ended by itself, and missed nothing but what was not there any more: a workload that goes on has files that come and go. */
export function lacksOnlyRemoved({ code, signal, killed = false, stderr = '' }: ProgramEnd): boolean {
  const lines = stderr.trim().split('\n');
  const isGone = (line: string) => /^cp: (?!cannot create).*: No such file or directory$/.test(line);
  return code === 1 && !signal && !killed && lines.every(isGone);
}

/** A whole copy appears at once, after everything in it is on the disk. It takes as long as there is much to copy. */
async function copy(from: string, to: string): Promise<void> {
  await remove(to);
  await copyWhole(from, to);
}

/** Both are inside of one mount: Linux before 5.18 shares no blocks of files between two. */
async function copyWhole(from: string, to: string): Promise<void> {
  await runConfined(dirname(to), 'cp', '-a', '--reflink=auto', '--one-file-system', '--', from, to);
  await runLongTool('sync', '--file-system', '--', to);
}

const LIVE_ATTEMPTS = 3;

/** The same of what may be written to meanwhile. A file that was moved from a folder to come into one that was past is missed by `cp`: then it is made again. */
async function copyLive(from: string, to: string): Promise<void> {
  for (let attempt = 1; attempt <= LIVE_ATTEMPTS; attempt++) {
    await remove(to);
    const isOlder = await recogniseOlder(from); // not before: what was written while an earlier attempt was removed has to be in this one
    await copyWhole(from, to).catch(async (thrown: unknown) => {
      if (!lacksOnlyRemoved((thrown as Error).cause ?? {})) throw thrown;
      await runLongTool('sync', '--file-system', '--', to);
    });
    if (!(await lacksOlder(from, to, isOlder))) return;
  }
  const remedy = 'stop the workload for a moment, or keep the volume with the driver btrfs';
  throw new VolumeFault('failed', `files are moved while the volume is copied; ${remedy}`);
}

async function makeRoot(path: string): Promise<void> {
  await mkdir(path);
  await chmod(path, ROOT_MODE);
}

const snapshotsIn = (folder: string) => join(folder, 'snapshots');
/** Where a copy is made or received, before it has a name. */
const draftIn = (folder: string, use: 'copy' | 'incoming') => join(folder, `.${use}`);

/** Volumes that are plain folders of the machine's file system: for machines that have nothing better. */
export const directoryBackend: Backend = {
  name: 'directory',
  limits,

  async recover() {},

  async isMade(folder) {
    const { data, next } = buildDataPaths(folder);
    return (await isPresent(data)) || isPresent(next);
  },

  countMissing: () => Promise.resolve(0),
  takeSpace: () => Promise.resolve(),

  async settle(folder) {
    await finishSwap(folder, remove);
    await makePrivateFolder(snapshotsIn(folder));
    await remove(draftIn(folder, 'copy'));
    const { data } = buildDataPaths(folder);
    if (!(await isPresent(data))) await makeRoot(data);
    await syncFolder(folder);
  },

  async openRoot(folder) {
    return buildDataPaths(folder).data;
  },

  async pin(folder, path, descriptor) {
    if (process.getuid?.() === 0) return pinFolder(folder, path, descriptor);
    const remedy = 'mount the whole volume, or run the agent as root';
    throw new VolumeFault('refused', `a folder inside of a volume could be exchanged before it is mounted; ${remedy}`);
  },

  async measure(folder) {
    const { data } = buildDataPaths(folder);
    const printed = await runTool('du', '--summarize', '--one-file-system', '--block-size=1', '--', data);
    return Number.parseInt(printed, 10);
  },

  async takeSnapshot(folder, name) {
    const draft = draftIn(folder, 'copy');
    try {
      await copyLive(buildDataPaths(folder).data, draft);
    } catch (thrown) {
      await remove(draft); // the disk may be full of it
      throw thrown;
    }
    await rename(draft, join(snapshotsIn(folder), name));
    await syncFolder(snapshotsIn(folder));
  },

  async moveAside(folder, name) {
    const { data, next } = buildDataPaths(folder);
    await makeRoot(next);
    await rename(data, join(snapshotsIn(folder), name));
    await syncFolder(snapshotsIn(folder));
    await finishSwap(folder, remove);
  },

  async listSnapshots(folder) {
    return (await readdir(snapshotsIn(folder))).sort();
  },

  async dropSnapshot(folder, name) {
    const draft = draftIn(folder, 'copy');
    await remove(draft);
    await rename(join(snapshotsIn(folder), name), draft);
    await remove(draft);
  },

  // A file that goes away while it is looked at is a change.
  differs: (folder, snapshot) =>
    isOther(buildDataPaths(folder).data, join(snapshotsIn(folder), snapshot)).catch(() => true),

  countWritten: () => Promise.resolve(undefined),
  readChangeMark: () => Promise.resolve(undefined),

  send(folder, snapshot, parent) {
    const path = (name: string) => join(snapshotsIn(folder), name);
    const chunks = sendFolder(path(snapshot), parent === undefined ? undefined : path(parent));
    return { source: Readable.from(chunks, { objectMode: false }), ended: Promise.resolve() };
  },

  async receive(folder, chunks, { parent, maxBytes, signal }) {
    const draft = draftIn(folder, 'incoming');
    await mkdir(draft, 0o700);
    const known = parent === undefined ? undefined : join(snapshotsIn(folder), parent);
    await pipeline(
      chunks,
      (passing: AsyncIterable<Buffer>) => receiveFolder(passing, { root: draft, parent: known, maxBytes }),
      { signal },
    );
    await runTool('sync', '--file-system', '--', draft);
  },

  async accept(folder, name) {
    await rename(draftIn(folder, 'incoming'), join(snapshotsIn(folder), name));
    await syncFolder(snapshotsIn(folder));
  },

  discard: folder => remove(draftIn(folder, 'incoming')),

  async promote(folder, snapshot) {
    await copy(join(snapshotsIn(folder), snapshot), buildDataPaths(folder).next);
    await swap(folder, remove);
  },

  release: unmountBelow,
};
