import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

/** Small files that an agent keeps across restarts, readable by its user only. */
export interface Disk {
  read(name: string): Promise<string | undefined>;
  /** Replaces the whole file. Once resolved, the content survives a power loss. */
  write(name: string, text: string): Promise<void>;
}

/** Files in one folder, which is created when missing. */
export function createDirectoryDisk(folder: string): Disk {
  return {
    async read(name) {
      try {
        return await readFile(join(folder, name), 'utf8');
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw thrown;
      }
    },
    async write(name, text) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = join(folder, `.${name}.${randomUUID()}`);
      await withFile(draft, 'wx', async file => {
        await file.writeFile(text);
        await file.sync();
      });
      await rename(draft, join(folder, name));
      await withFile(folder, 'r', entries => entries.sync()); // persist the rename too
    },
  };
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
export function createMemoryDisk(): Disk {
  const files = new Map<string, string>();
  return {
    read: name => Promise.resolve(files.get(name)),
    write: (name, text) => Promise.resolve(void files.set(name, text)),
  };
}
