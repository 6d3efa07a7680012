import { createMemoryDisk } from '../../pkg/agent/index.js';
import type { SimProcess } from '../../dev/simulation/index.js';
import type { Machine } from './machine.js';

/** The files of a machine as one of its processes has them, which writes nothing more when it is dead, or while they cannot be written. */
export function createAttachedDisk(
  machine: Pick<Machine, 'files' | 'canWriteState'>,
  life: SimProcess,
): ReturnType<typeof createMemoryDisk> {
  const disk = createMemoryDisk(machine.files);
  const reach = <T>(act: () => Promise<T>) => (life.alive ? act() : new Promise<T>(() => undefined));
  const full = () => Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
  const write = (name: string, text: string) => reach(() => (machine.canWriteState ? disk.write(name, text) : full()));
  return {
    read: name => reach(() => disk.read(name)),
    write,
    keep: write,
    list: () => reach(() => disk.list()),
    remove: name => reach(() => disk.remove(name)),
  };
}
