import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

/** The few small files that an agent keeps over restarts. Only its owner can read them. */
export interface Disk {
  read(name: string): Promise<string | undefined>;
  /** Replaces the whole file. After this has resolved it survives a loss of power. */
  write(name: string, text: string): Promise<void>;
}

/** Files in one folder, which is made when missing. */
export function directoryDisk(folder: string): Disk {
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
      await withFile(folder, 'r', entries => entries.sync()); // the new name is on disk as well
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

/** Files that last as long as this object: for simulations, where it outlives the agent. */
export function memoryDisk(): Disk {
  const files = new Map<string, string>();
  return {
    read: name => Promise.resolve(files.get(name)),
    write(name, text) {
      files.set(name, text);
      return Promise.resolve();
    },
  };
}
