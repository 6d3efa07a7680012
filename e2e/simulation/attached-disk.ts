import { createMemoryDisk } from '../../pkg/agent/index.js';
import type { SimProcess } from '../../dev/simulation/index.js';

/** The files of a machine as one of its processes has them, which writes nothing more when it is dead. */
export function createAttachedDisk(files: Map<string, string>, life: SimProcess): ReturnType<typeof createMemoryDisk> {
  const disk = createMemoryDisk(files);
  const reach = <T>(act: () => Promise<T>) => (life.alive ? act() : new Promise<T>(() => undefined));
  return {
    read: name => reach(() => disk.read(name)),
    write: (name, text) => reach(() => disk.write(name, text)),
    keep: (name, text) => reach(() => disk.keep(name, text)),
    list: () => reach(() => disk.list()),
    remove: name => reach(() => disk.remove(name)),
  };
}
