import { spawn } from 'node:child_process';
import { chmod, readdir, rename, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { Backend } from './backend.js';
import { countWritten, forgetCounters, readChangeMark } from './btrfs-counters.js';
import { guardStream, INCOMING } from './btrfs-stream.js';
import { type DriverLimits, VolumeFault } from './driver.js';
import { finishSwap, isPresent, buildDataPaths, ROOT_MODE, swap, syncFolder } from './files.js';
import {
  countMissing,
  detach,
  detachRemoved,
  ensureSize,
  mountStore,
  mountSubvolume,
  buildVolumePaths,
  pinFolder,
  takeSpace,
  unmountBelow,
} from './loop-image.js';
import { isMounted } from './mounts.js';
import { programEnvironment, runTool, toProgramFault } from './run-tool.js';
import { releaseBuffer } from './spent-bytes.js';

const MEBIBYTE = 2 ** 20;

const limits: DriverLimits = {
  enforcesSize: true,
  snapshotsOnline: true,
  minSizeBytes: 128 * MEBIBYTE,
  shrinkFloorBytes: 256 * MEBIBYTE,
  limits: [
    'A volume takes its whole size of the disk of its node from the beginning, less than 128 MiB is made 128 MiB, and none is shrunk below 256 MiB.',
    'The file system itself and the snapshots that replication keeps count towards the size.',
    'Devices on a volume do not work and, like subvolumes that a workload makes, stop its replication; setuid bits have no effect.',
  ],
};

/** Removes a subvolume, and those that its workload has made inside of it: no right is needed for that. */
async function removeSubvolume(path: string): Promise<void> {
  const remove = () => runTool('btrfs', 'subvolume', 'delete', '--', path);
  try {
    await remove();
  } catch {
    // The root of a subvolume, and nothing else on btrfs, has this inode. `find` passes names on as they are, whatever is in them.
    const inside = ['-type', 'd', '-inum', '256', '-exec', 'btrfs'];
    await runTool(
      'find',
      path,
      '-mindepth',
      '1',
      ...inside,
      'property',
      'set',
      '-t',
      'subvol',
      '{}',
      'ro',
      'false',
      ';',
    );
    await runTool('find', path, '-mindepth', '1', '-depth', ...inside, 'subvolume', 'delete', '--', '{}', ';');
    await remove();
  }
}

async function makeRoot(path: string): Promise<void> {
  await runTool('btrfs', 'subvolume', 'create', '--', path);
  await chmod(path, ROOT_MODE);
}

/** Throws when a copy of the workload's files would not have all of them. */
async function checkNoneNested(data: string): Promise<void> {
  if ((await runTool('btrfs', 'subvolume', 'list', '-o', '--', data)).trim() === '') return;
  const message = 'the workload has made btrfs subvolumes on the volume, which no copy of it would have';
  throw new VolumeFault('refused', `${message}; replace them by plain folders`);
}

/** Runs a part of `btrfs` that reads or writes a stream. */
function startBtrfs(words: readonly string[]) {
  const child = spawn('btrfs', words, { env: programEnvironment, stdio: 'pipe' });
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed = (printed + text).slice(-4096);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', code => (code === 0 ? resolve() : reject(toProgramFault(['btrfs', ...words], printed))));
  });
  ended.catch(() => undefined);
  return { child, ended };
}

/** Chunks that are given back when the next is asked for. */
async function* givingBack(chunks: AsyncIterable<Buffer>, giveBack: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    yield chunk;
    giveBack(chunk);
  }
}

/** Takes a chunk only when the program has all of the one before: by then its memory may be used for another. */
function toWhole(input: Writable): Writable {
  const whole = new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _encoding, next) => void input.write(chunk, next),
    final: next => void input.end(next),
  });
  const giveUp = () => whole.destroy(Object.assign(new Error('the program has ended'), { code: 'EPIPE' }));
  input.once('close', giveUp).on('error', giveUp);
  return whole;
}

/** The ids that a stream may know a snapshot by: its own, and that of the one it was received from. */
async function readUuids(path: string): Promise<readonly string[]> {
  const shown = await runTool('btrfs', 'subvolume', 'show', '--', path);
  return [...shown.matchAll(/^\s*(?:Received )?UUID:\s+([0-9a-f-]{36})$/gm)].map(([, id]) => id!.replaceAll('-', ''));
}

/** What `btrfs subvolume show` prints of a subvolume, as far as it shows whether it has changed. */
async function readHistory(path: string) {
  const shown = await runTool('btrfs', 'subvolume', 'show', '--', path);
  const read = (name: string) => new RegExp(`^\\s*${name}:\\s+(\\S+)$`, 'm').exec(shown)?.[1];
  return {
    uuid: read('UUID'),
    parent: read('Parent UUID'),
    generation: Number(read('Generation')),
    madeIn: Number(read('Gen at creation')),
  };
}

/** Volumes that are file systems of their own, each in a file of the machine's: the size of the file is the limit. */
export const btrfsBackend: Backend = {
  name: 'btrfs',
  limits,

  recover: detachRemoved,

  isMade: folder => isPresent(buildVolumePaths(folder).image),

  countMissing,
  takeSpace,

  async settle(folder, sizeBytes) {
    const { store } = buildVolumePaths(folder);
    const { data } = buildDataPaths(store);
    await mountStore(folder);
    await finishSwap(store, removeSubvolume);
    if (!(await isPresent(data))) await makeRoot(data);
    await mountSubvolume(folder, '.data');
    await ensureSize(folder, sizeBytes);
  },

  async openRoot(folder) {
    const { mount } = buildVolumePaths(folder);
    if (await isMounted(mount)) return mount;
    throw new VolumeFault('failed', 'the volume is not mounted; materialise it again');
  },

  pin: pinFolder,

  async measure(folder) {
    // What is set aside for metadata is free, and no file can have it.
    const { blocks, bavail, bsize } = await statfs(await btrfsBackend.openRoot(folder));
    return (blocks - bavail) * bsize;
  },

  async takeSnapshot(folder, name) {
    const { store } = buildVolumePaths(folder);
    const { data } = buildDataPaths(store);
    await checkNoneNested(data);
    await runTool('btrfs', 'subvolume', 'snapshot', '-r', '--', data, join(store, name));
  },

  async moveAside(folder, name) {
    const { store, mount, pins } = buildVolumePaths(folder);
    const { data, next } = buildDataPaths(store);
    await makeRoot(next);
    for (const path of [pins, mount]) await unmountBelow(path);
    await rename(data, join(store, name));
    await finishSwap(store, removeSubvolume);
  },

  async listSnapshots(folder) {
    return (await readdir(buildVolumePaths(folder).store)).filter(name => !name.startsWith('.')).sort();
  },

  dropSnapshot: (folder, name) => removeSubvolume(join(buildVolumePaths(folder).store, name)),

  // Taking a snapshot raises the generation of what it is taken of; every later change raises it further.
  // What was only flushed by a workload is in a log that does not count there until it is committed.
  async differs(folder, snapshot) {
    const { store } = buildVolumePaths(folder);
    await runTool('sync', '--file-system', '--', store);
    const [data, taken] = [await readHistory(buildDataPaths(store).data), await readHistory(join(store, snapshot))];
    const isPromoted = data.parent === taken.uuid && data.generation === data.madeIn;
    return data.generation !== taken.madeIn && !isPromoted;
  },

  countWritten,
  readChangeMark,

  send(folder, snapshot, parent) {
    const { store } = buildVolumePaths(folder);
    const { child, ended } = startBtrfs([
      'send',
      '--quiet',
      ...(parent === undefined ? [] : ['-p', join(store, parent)]),
      join(store, snapshot),
    ]);
    child.stdin.end();
    child.stdout.once('close', () => child.stdout.readableEnded || child.kill('SIGKILL'));
    return { source: child.stdout, ended, giveBack: releaseBuffer };
  },

  async receive(folder, chunks, { parent, signal, giveBack }) {
    const { store } = buildVolumePaths(folder);
    const uuids = parent === undefined ? [] : await readUuids(join(store, parent));
    const { child, ended } = startBtrfs(['receive', '--quiet', '--chroot', store]);
    child.stdout.resume();
    try {
      const guarded = guardStream(giveBack ? givingBack(chunks, giveBack) : chunks, uuids);
      await pipeline(guarded, toWhole(child.stdin), { signal });
    } catch (thrown) {
      child.kill('SIGKILL');
      const said = await ended.then(() => undefined).catch((fault: unknown) => fault);
      throw (thrown as NodeJS.ErrnoException).code === 'EPIPE' ? (said ?? thrown) : thrown;
    }
    await ended;
    // A snapshot that is acknowledged must survive a power loss, and the program leaves that to others.
    await runTool('sync', '--file-system', '--', store);
  },

  async accept(folder, name) {
    const { store } = buildVolumePaths(folder);
    await rename(join(store, INCOMING), join(store, name));
    await syncFolder(store);
  },

  async discard(folder) {
    const incoming = join(buildVolumePaths(folder).store, INCOMING);
    if (await isPresent(incoming)) await removeSubvolume(incoming);
  },

  async promote(folder, snapshot) {
    const { store, mount, pins } = buildVolumePaths(folder);
    await runTool('btrfs', 'subvolume', 'snapshot', '--', join(store, snapshot), buildDataPaths(store).next);
    for (const path of [pins, mount]) await unmountBelow(path);
    await swap(store, removeSubvolume);
  },

  async release(folder) {
    await unmountBelow(folder);
    await detach(buildVolumePaths(folder).image);
    forgetCounters(folder);
  },
};
