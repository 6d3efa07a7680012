import { statfs } from 'node:fs/promises';

import { FailpointFault } from '../../failpoint/index.js';
import type { Disk } from '../disk.js';
import type { Backend } from './backend.js';
import type { RemovedVolumes } from './removed-volumes.js';
import type { SerialTasks } from './serial-tasks.js';
import { checkRecord, checkReserve, checkShrink, roundSize, stepSize, toVolumeFault } from './volume-checks.js';
import { readRecord, type VolumeRecord, writeRecord } from './volume-record.js';

/** The turn of what takes space of the machine: two must not count on the same. */
const SPACE = 'space';

export interface VolumeSizesEnv {
  readonly backend: Backend;
  /** Where volumes are kept, each in a folder of its own. */
  readonly root: string;
  /** Beside the volumes, on another disk perhaps: shows whether theirs is mounted. */
  readonly state?: Disk;
  /** What volumes leave free on the machine's file system, in bytes. */
  readonly reserveBytes: number;
  /** What makes way for volumes that are made or grow. */
  readonly removed: Pick<RemovedVolumes, 'makeRoom'>;
}

/** Brings volumes to the sizes that their records say, as far as the machine's disk has room for them. */
export class VolumeSizes {
  readonly #env: VolumeSizesEnv;
  readonly #turns: SerialTasks;
  readonly #faults = new Map<string, string>();

  constructor(env: VolumeSizesEnv, turns: SerialTasks) {
    this.#env = env;
    this.#turns = turns;
  }

  /** Why a volume could not be settled when that was last tried. */
  findFault(id: string): string | undefined {
    return this.#faults.get(id);
  }

  /** Makes a volume usable, with the size of its record, or with the one before when it cannot have that; answers which. */
  async settle(id: string, folder: string): Promise<number> {
    try {
      const record = checkRecord(await readRecord(folder), this.#env.backend.name);
      const { from, ...rest } = record;
      const sizeBytes = await this.#settleTo(folder, record);
      if (from !== undefined) await writeRecord(folder, { ...rest, sizeBytes });
      this.#faults.delete(id);
      return sizeBytes;
    } catch (thrown) {
      this.#faults.set(id, toVolumeFault(thrown).message);
      throw thrown;
    }
  }

  async #settleTo(folder: string, { sizeBytes, from }: VolumeRecord): Promise<number> {
    const { backend } = this.#env;
    try {
      await this.#takeSpace(folder, sizeBytes);
      await backend.settle(folder, sizeBytes);
      return sizeBytes;
    } catch (thrown) {
      if (from === undefined || thrown instanceof FailpointFault) throw thrown;
      await backend.settle(folder, from);
      return from;
    }
  }

  /** Only what takes space waits for its turn: a mount that hangs keeps no other volume from being used. */
  async #takeSpace(folder: string, sizeBytes: number): Promise<void> {
    const { backend } = this.#env;
    if ((await backend.isMade(folder)) && (await backend.countMissing(folder, sizeBytes)) === 0) return;
    await this.#turns.run(SPACE, async () => {
      await this.checkRoom(folder, sizeBytes);
      await backend.takeSpace(folder, sizeBytes);
    });
  }

  /** The size that a volume gets next on its way to the one that is asked for. Throws when it cannot have that. */
  async plan(folder: string, from: number, sizeBytes: number): Promise<number> {
    const { backend } = this.#env;
    const wanted = roundSize(sizeBytes, backend.limits);
    if (wanted > from) await this.checkRoom(folder, wanted);
    if (wanted < from) checkShrink(wanted, await backend.measure(folder), backend.limits);
    // Where nothing is moved there is nothing to wait for.
    return backend.limits.enforcesSize ? stepSize(from, wanted) : wanted;
  }

  /** Throws when the disk would not be left its reserve, also without what was removed. What the volume has taken already is not counted again. */
  async checkRoom(folder: string, sizeBytes: number): Promise<void> {
    const { backend, root, reserveBytes, removed } = this.#env;
    const missing = await backend.countMissing(folder, sizeBytes);
    if (missing === 0) return;
    await removed.makeRoom(missing + reserveBytes);
    const { bavail, bsize } = await statfs(root);
    checkReserve(missing, { freeBytes: bavail * bsize, reserveBytes });
  }
}
