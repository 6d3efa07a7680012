import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Small files that an agent keeps across restarts, readable by its user only. */
export interface Disk {
  read(name: string): Promise<string | undefined>;
  /** Replaces the whole file. Once resolved, the content survives a power loss. */
  write(name: string, text: string): Promise<void>;
  /** As `write`, of what the agent can go on without: where it is the disk of an agent (`StateFolder`), it does not fail. */
  keep(name: string, text: string): Promise<void>;
  /** The names of all files. */
  list(): Promise<readonly string[]>;
  /** Does nothing when there is no such file. */
  remove(name: string): Promise<void>;
}

/**
 * A document that was stored as JSON. Undefined when there is none, and when a fault of the disk has left something else: then it
 * is created again. What is wrong with it is not logged, because that would quote it.
 */
export async function readStateFile<T extends object>(
  disk: Disk,
  name: string,
  isSound: (document: Partial<T>) => boolean,
): Promise<T | undefined> {
  const text = await disk.read(name);
  try {
    const document = JSON.parse(text ?? 'null') as T | null;
    return typeof document === 'object' && document && isSound(document) ? document : undefined;
  } catch {
    return undefined;
  }
}

/** Files in one folder, which is created when missing. */
export function createDirectoryDisk(folder: string): Disk {
  const write = async (name: string, text: string) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const draft = join(folder, `.${name}.${randomUUID()}`);
    try {
      await withFile(draft, 'wx', async file => {
        await file.writeFile(text);
        await file.sync();
      });
      await rename(draft, join(folder, name));
    } catch (thrown) {
      await unlink(draft).catch(() => undefined); // it may not be there; drafts must not fill what is full
      throw thrown;
    }
    await withFile(folder, 'r', entries => entries.sync()); // persist the rename too
  };
  return {
    async read(name) {
      return readFile(join(folder, name), 'utf8').catch(ignoreMissing);
    },
    write,
    keep: write,
    async list() {
      return (await readdir(folder).catch(ignoreMissing)) ?? [];
    },
    async remove(name) {
      await unlink(join(folder, name)).catch(ignoreMissing);
    },
  };
}

/** For `catch`: what is not there is no fault. */
export function ignoreMissing(thrown: unknown): undefined {
  if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
}

async function withFile(path: string, flags: string, work: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    await work(file);
  } finally {
    await file.close();
  }
}

/** Files in memory: for simulations, where the object outlives the agent. */
export function createMemoryDisk(files = new Map<string, string>()): Disk {
  return {
    read: name => Promise.resolve(files.get(name)),
    write: (name, text) => Promise.resolve(void files.set(name, text)),
    keep: (name, text) => Promise.resolve(void files.set(name, text)),
    list: () => Promise.resolve([...files.keys()]),
    remove: name => Promise.resolve(void files.delete(name)),
  };
}
