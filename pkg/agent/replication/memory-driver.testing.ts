import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

import { StreamChecksum, type VolumeDriver, VolumeFault } from '../volumes/index.js';
import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { formatSyncName } from './messages.js';

interface MemoryVolume {
  content: string;
  written: number;
  changes: number;
  readonly snapshots: Map<string, string>;
}

/** Volumes that hold one text each, in memory. The difference between two texts is what the second has at its end. */
export class MemoryDriver {
  readonly volumes = new Map<string, MemoryVolume>();
  /** Every step that would write to a disk. */
  readonly steps: string[] = [];
  /** How often it was asked whether anything was written. */
  asked = 0;
  /** Snapshots that the disk does not let go of. */
  readonly stuck = new Set<string>();
  /** What a volume has room for, and how much it can be given. */
  sizeBytes = 2 ** 30;
  sizeMax = 2 ** 30;

  write(id: string, content: string): void {
    this.writeUnflushed(id, content);
    this.#find(id).written += content.length;
  }

  /** As `write`; nothing of it is on the disk yet. */
  writeUnflushed(id: string, content: string): void {
    const volume = this.#find(id);
    volume.content = content;
    volume.changes++;
  }

  read(id: string): string {
    return this.#find(id).content;
  }

  get driver(): VolumeDriver {
    const find = (id: string) => this.#find(id);
    const step = (what: string, id: string) => {
      this.steps.push(what);
      find(id).written++;
      find(id).changes++;
    };
    const findSnapshot = (id: string, name: string) => {
      const found = find(id).snapshots.get(name);
      if (found === undefined) throw new VolumeFault('not_found', 'there is no such snapshot; send a whole one');
      return found;
    };
    const driver: Omit<VolumeDriver, 'recover' | 'list'> = {
      name: 'btrfs',
      describe: () => ({ enforcesSize: true, snapshotsOnline: true, minSizeBytes: 0, shrinkFloorBytes: 0, limits: [] }),
      materialise: async ({ id, sizeBytes, isMade }) => {
        if (isMade) find(id);
        if (!this.volumes.has(id)) this.volumes.set(id, { content: '', written: 0, changes: 0, snapshots: new Map() });
        return { id, sizeBytes };
      },
      mountPoint: async id => `/volumes/${id}`,
      usage: async id => ({ usedBytes: find(id).content.length, sizeBytes: this.sizeBytes, measuredAt: 0 }),
      resize: async (id, sizeBytes) => {
        if (sizeBytes > this.sizeMax) throw new VolumeFault('no_space', 'the disk is full; make room');
        this.sizeBytes = sizeBytes;
        return { id, sizeBytes };
      },
      snapshot: async (id, name) => {
        if (find(id).snapshots.has(name)) return;
        step(`snapshot ${name}`, id);
        find(id).snapshots.set(name, find(id).content);
      },
      moveAside: async (id, name) => {
        step(`move ${name}`, id);
        find(id).snapshots.set(name, find(id).content);
        find(id).content = '';
      },
      listSnapshots: async id => [...find(id).snapshots.keys()].sort(),
      dropSnapshot: async (id, name) => {
        if (this.stuck.has(name)) throw new VolumeFault('no_space', 'there is no space left; free some');
        step(`drop ${name}`, id);
        find(id).snapshots.delete(name);
      },
      isEmpty: async id => find(id).content === '',
      isChanged: async (id, name) => findSnapshot(id, name) !== find(id).content,
      changeMark: async id => {
        this.asked++;
        return String(find(id).changes);
      },
      writtenBytes: async id => find(id).written,
      send: async (id, name, parent) => {
        const whole = findSnapshot(id, name);
        const known = parent === undefined ? '' : findSnapshot(id, parent);
        const isLonger = whole.startsWith(known);
        const bytes = JSON.stringify({
          parent: isLonger ? parent : undefined,
          more: isLonger ? whole.slice(known.length) : whole,
        });
        const checksum = Promise.resolve(new StreamChecksum().add(Buffer.from(bytes)).toHex());
        return { stream: Readable.from(pieces(Buffer.from(bytes)), { objectMode: false }), checksum };
      },
      receive: async (id, stream, { snapshot, checksum }) => {
        const bytes = await text(stream);
        if (new StreamChecksum().add(Buffer.from(bytes)).toHex() !== (await checksum))
          throw new VolumeFault('bad_stream', 'its checksum differs; send it again');
        const { parent, more } = JSON.parse(bytes) as { parent?: string; more: string };
        const known = parent === undefined ? '' : findSnapshot(id, parent);
        const held = [find(id).content, known, more, ...find(id).snapshots.values()].join('');
        if (held.length > this.sizeBytes) throw new VolumeFault('no_space', 'the volume is full; grow it');
        step(`receive ${snapshot}${parent === undefined ? '' : ` after ${parent}`}`, id);
        find(id).snapshots.set(snapshot, known + more);
      },
      promote: async (id, name) => {
        step(`promote ${name}`, id);
        find(id).content = findSnapshot(id, name);
      },
      remove: async id => void this.volumes.delete(id),
    };
    return driver as VolumeDriver;
  }

  #find(id: string): MemoryVolume {
    const volume = this.volumes.get(id);
    if (!volume) throw new VolumeFault('not_found', 'the volume is not here; make it first');
    return volume;
  }
}

function pieces(bytes: Buffer): readonly Buffer[] {
  const size = 16 * 1024;
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

/** The name of a snapshot that some run of an agent has taken. */
export function makeSyncName(epoch: number, sequence: number, run = '0'.repeat(8)): string {
  return formatSyncName({ ...makeTerm(epoch), run }, sequence);
}
