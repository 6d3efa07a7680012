import { createHash } from 'node:crypto';
import { createReadStream, type Dirent, type Stats } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';

import { type FolderRecord, MAGIC } from './directory-record.js';

/** A path of bytes: names need not be UTF-8. */
export function toBytes(root: string, path: string): Buffer {
  return path === '' ? Buffer.from(root) : Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')]);
}

/** A regular file of a folder that does not change. None that is reached over a symbolic link, which may lead out of the volume. */
export async function findFile(root: string, path: string): Promise<Stats | undefined> {
  const own = toBytes(await realpath(root), path);
  const real = await realpath(own, { encoding: 'buffer' }).catch(() => undefined);
  const stats = real?.equals(own) ? await lstat(own) : undefined;
  return stats?.isFile() ? stats : undefined;
}

/** The stream of a folder that does not change meanwhile: all of it, or what differs from `parent`. */
export async function* sendFolder(root: string, parent: string | undefined): AsyncGenerator<Buffer> {
  yield Buffer.from(MAGIC);
  const firstNames = new Map<string, string>();
  let entries = 0;
  for await (const path of walk(root, '')) {
    const stats = await lstat(toBytes(root, path));
    const record = await describeEntry(root, path, stats, parent, firstNames);
    if (!record) continue;
    entries++;
    yield toLine(record);
    if (record.kind === 'file') yield* readWhole(toBytes(root, path), record.size);
  }
  yield toLine({ kind: 'end', entries });
}

function toLine(record: FolderRecord): Buffer {
  return Buffer.from(`${JSON.stringify(record)}\n`);
}

/** Every path below a folder that does not change meanwhile, parents first, in a fixed order. */
async function* walk(root: string, path: string): AsyncGenerator<string> {
  yield path;
  const entries = await readFolder(toBytes(root, path));
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const below = join(path, entry.name);
    if (entry.isDirectory()) yield* walk(root, below);
    else yield below;
  }
}

function readFolder(path: Buffer): Promise<Dirent[]> {
  return readdir(path, { withFileTypes: true, encoding: 'latin1' });
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}/${name}`;
}

/** What is read of an entry; undefined when there is none of that name. */
function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR') return undefined;
    throw thrown;
  });
}

/** How often folders that go on changing are read. What is moved to and fro would have to be missed each time. */
const LOOKS = 16;
/** A folder may change without another time of change, this soon after its last. */
const TIME_STEP_MS = 50;

/**
 * Comes to everything below a folder until `see` answers true. What is moved meanwhile, into a folder that was read already, is come to as well:
 * what has changed since it was read is read again.
 */
async function seeAll(root: string, see: (path: string) => Promise<boolean>, read = readFolder): Promise<boolean> {
  /** When each folder that was read had changed last, as far as that says anything. */
  const changedAt = new Map<string, number>([['', 0]]);
  for (let look = 1, isSteady = false; look <= LOOKS && !isSteady; look++) {
    isSteady = true;
    // A folder that is found on the way is appended, and reached in the same look.
    for (const [folder, seen] of changedAt) {
      const stats = await unlessGone(lstat(toBytes(root, folder)));
      if (!stats) changedAt.delete(folder);
      if (!stats || stats.ctimeMs === seen) continue;
      isSteady = false;
      changedAt.set(folder, Date.now() - stats.ctimeMs > TIME_STEP_MS ? stats.ctimeMs : 0);
      for (const entry of (await unlessGone(read(toBytes(root, folder)))) ?? []) {
        const path = join(folder, entry.name);
        if (await see(path)) return true;
        if (entry.isDirectory() && !changedAt.has(path)) changedAt.set(path, 0);
      }
    }
  }
  return false;
}

type Recognition = (stats: Stats) => boolean;

/**
 * Shows later what was in the folder before now: what was born before now, and what is there now and was born later, because the clock was set
 * back since. Where its file system knows no times of birth (0), nothing is recognised.
 */
export async function recogniseOlder(root: string): Promise<Recognition> {
  const now = Date.now();
  const toMark = ({ ino, birthtimeMs }: Stats) => `${ino} ${birthtimeMs}`; // the number of an inode comes again
  const ahead = new Set<string>();
  await seeAll(root, async path => {
    const stats = await unlessGone(lstat(toBytes(root, path)));
    if (stats && stats.birthtimeMs >= now) ahead.add(toMark(stats));
    return false;
  });
  return stats => stats.birthtimeMs > 0 && (stats.birthtimeMs < now || ahead.has(toMark(stats)));
}

/** Whether a copy lacks what was in the folder before it was made and still is: it was moved meanwhile. */
export function lacksOlder(root: string, copy: string, isOlder: Recognition, read = readFolder): Promise<boolean> {
  const lacks = async (path: string) => {
    if (await unlessGone(lstat(toBytes(copy, path)))) return false;
    const stats = await unlessGone(lstat(toBytes(root, path)));
    return stats !== undefined && isOlder(stats);
  };
  return seeAll(root, lacks, read);
}

/** Undefined for what a folder cannot carry: devices, sockets and pipes. */
async function describeEntry(
  root: string,
  path: string,
  stats: Stats,
  parent: string | undefined,
  firstNames: Map<string, string>,
): Promise<FolderRecord | undefined> {
  const { mode, uid, gid, size, ino, nlink } = stats;
  const owned = { path, mode: mode & 0o7777, uid, gid, mtime: stats.mtimeMs / 1000 };
  if (stats.isDirectory()) return { kind: 'folder', ...owned };
  if (stats.isSymbolicLink()) {
    const to = (await readlink(toBytes(root, path), { encoding: 'buffer' })).toString('latin1');
    return { kind: 'symlink', path, to, uid, gid };
  }
  if (!stats.isFile()) return undefined;
  const first = nlink > 1 ? firstNames.get(`${ino}`) : undefined;
  if (first !== undefined) return { kind: 'link', path, to: first };
  if (nlink > 1) firstNames.set(`${ino}`, path);
  const digest = parent === undefined ? undefined : await findSame(root, parent, path, size);
  return digest === undefined ? { kind: 'file', ...owned, size } : { kind: 'same', ...owned, digest };
}

/** The digest of a file that the parent has too. Contents are compared: times can be set. */
async function findSame(root: string, parent: string, path: string, size: number): Promise<string | undefined> {
  if ((await findFile(parent, path))?.size !== size) return undefined;
  const [old, now] = await Promise.all([digestFile(toBytes(parent, path)), digestFile(toBytes(root, path))]);
  return old === now ? now : undefined;
}

async function digestFile(path: Buffer): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

async function* readWhole(path: Buffer, size: number): AsyncGenerator<Buffer> {
  let left = size;
  if (size === 0) return;
  for await (const chunk of createReadStream(path, { end: size - 1 })) {
    left -= (chunk as Buffer).length;
    yield chunk as Buffer;
  }
  if (left !== 0) throw new Error('a file became shorter while it was read');
}

/** Whether two folders differ by names, kinds, sizes, owners, modes, targets or times: contents are not read. */
export async function isOther(root: string, copy: string): Promise<boolean> {
  const there = walk(copy, '');
  for await (const path of walk(root, '')) {
    const { value } = await there.next();
    if (value !== path || (await describe(root, path)) !== (await describe(copy, path))) return true;
  }
  return !(await there.next()).done;
}

async function describe(root: string, path: string): Promise<string> {
  const bytes = toBytes(root, path);
  const { mode, uid, gid, size, mtimeMs, nlink } = await lstat(bytes);
  const isFolder = (mode & 0o170000) === 0o040000;
  const to = (mode & 0o170000) === 0o120000 ? await readlink(bytes, { encoding: 'latin1' }) : '';
  return [mode, uid, gid, isFolder ? '' : size, Math.floor(mtimeMs), isFolder ? '' : nlink, to].join(' ');
}
