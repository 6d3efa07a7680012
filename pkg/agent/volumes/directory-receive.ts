import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { chmod, lchown, link, mkdir, open, symlink, utimes } from 'node:fs/promises';

import { type FolderRecord, MAGIC, parseFolderRecord } from './directory-record.js';
import { findFile, toBytes } from './directory-send.js';
import { createStreamFault } from './volume-checks.js';

const LINE_MAX = 64 * 1024;

/** What an entry takes at least, whatever it holds. */
const ENTRY_BYTES = 4096;

class Budget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw createStreamFault('it holds more than the volume can; grow the volume');
  }
}

/** Reads lines and counted bytes from a stream of chunks. */
class Reader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  async readLine(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(10);
      if (end > LINE_MAX || (end < 0 && this.#rest.length > LINE_MAX)) throw createStreamFault('an entry is too long');
      if (end >= 0) {
        const line = this.#rest.subarray(0, end).toString();
        this.#rest = this.#rest.subarray(end + 1);
        return line;
      }
      const more = await this.#next();
      if (!more) throw createStreamFault('it ends too early');
      this.#rest = this.#rest.length === 0 ? more : Buffer.concat([this.#rest, more]);
    }
  }

  async *readBytes(count: number): AsyncGenerator<Buffer> {
    let left = count;
    while (left > 0) {
      const chunk: Buffer | undefined = this.#rest.length > 0 ? this.#rest : await this.#next();
      if (!chunk) throw createStreamFault('it ends too early');
      this.#rest = chunk.subarray(left);
      left -= chunk.length - this.#rest.length;
      yield chunk.subarray(0, chunk.length - this.#rest.length);
    }
  }

  async isAtEnd(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#next());
  }

  async #next(): Promise<Buffer | undefined> {
    const { value, done } = await this.#chunks.next();
    return done ? undefined : value;
  }
}

/**
 * Writes the entries of a stream below `root`, a new and empty folder that nothing else writes to.
 *
 * Every parent must be a folder that this stream made, every link lead to a file that it made, and nothing is made twice: so nothing outside is reached.
 */
export async function receiveFolder(source: AsyncIterable<Buffer>, place: Place): Promise<void> {
  const { root } = place;
  const budget = new Budget(place.maxBytes);
  const reader = new Reader(source);
  if (`${await reader.readLine()}\n` !== MAGIC) throw createStreamFault('it is not the stream of a folder');
  const folders = new Map<string, Extract<FolderRecord, { kind: 'folder' }>>();
  const files = new Set<string>();
  let entries = 0;
  for (;;) {
    const record = parseFolderRecord(await reader.readLine());
    if (record.kind === 'end') {
      if (record.entries !== entries || !(await reader.isAtEnd()))
        throw createStreamFault('it does not end where it says');
      break;
    }
    entries++;
    budget.take(ENTRY_BYTES);
    const { path } = record;
    if (path !== '' && !folders.has(findParent(path)))
      throw createStreamFault('an entry is not inside of a folder of its own');
    if (record.kind === 'folder') {
      if (folders.has(path)) throw createStreamFault('a folder comes twice');
      if (path !== '') await mkdir(toBytes(root, path), 0o700);
      folders.set(path, record);
    } else if (record.kind === 'symlink') {
      await symlink(Buffer.from(record.to, 'latin1'), toBytes(root, path));
      await own(toBytes(root, path), record);
    } else if (record.kind === 'link') {
      if (!files.has(record.to)) throw createStreamFault('a hard link leads to nothing that came before');
      await link(toBytes(root, record.to), toBytes(root, path));
    } else {
      await writeFile(record, { ...place, reader, budget });
      files.add(path);
    }
  }
  if (!folders.has('')) throw createStreamFault('the folder itself is missing');
  // Last, and the inner ones first: writing into a folder changes its time, and its mode may forbid it.
  for (const folder of [...folders.values()].reverse()) await finish(toBytes(root, folder.path), folder, 0o3777);
}

/** Where the entries go. */
interface Place {
  readonly root: string;
  /** The folder that the stream is the difference to. */
  readonly parent: string | undefined;
  readonly maxBytes: number;
}

async function writeFile(
  record: Extract<FolderRecord, { kind: 'file' | 'same' }>,
  { root, parent, reader, budget }: Place & { readonly reader: Reader; readonly budget: Budget },
): Promise<void> {
  const path = toBytes(root, record.path);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    const content = record.kind === 'file' ? reader.readBytes(record.size) : readSame(record, parent);
    for await (const chunk of content) {
      budget.take(chunk.length);
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
  await finish(path, record, 0o1777);
}

/** The bytes of a file of the parent, which must be the ones that the sender has. */
async function* readSame({ path, digest }: { path: string; digest: string }, parent: string | undefined) {
  if (parent === undefined || !(await findFile(parent, path))) throw wrongParent();
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(toBytes(parent, path))) {
    hash.update(chunk as Buffer);
    yield chunk as Buffer;
  }
  if (hash.digest('hex') !== digest) throw wrongParent();
}

function wrongParent() {
  return createStreamFault('it is the difference to another parent');
}

function findParent(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}

/** The owner first: changing it clears bits of the mode. Bits outside of `allowed` (setuid) are not taken over. */
async function finish(
  path: Buffer,
  record: { readonly uid: number; readonly gid: number; readonly mode: number; readonly mtime: number },
  allowed: number,
): Promise<void> {
  await own(path, record);
  await chmod(path, record.mode & allowed);
  await utimes(path, record.mtime, record.mtime);
}

async function own(path: Buffer, { uid, gid }: { readonly uid: number; readonly gid: number }): Promise<void> {
  if (process.getuid?.() === 0) await lchown(path, uid, gid);
}
