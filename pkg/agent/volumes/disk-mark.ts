import { randomUUID } from 'node:crypto';

import { createDirectoryDisk, type Disk, readStateFile } from '../disk.js';
import { VolumeFault } from './driver.js';
import { SerialTasks } from './serial-tasks.js';
import { listKeptIds } from './volume-record.js';

const ON_DISK = 'disk.json';
const BESIDE = 'volume-disk.json';

/**
 * Names the disk that holds the volumes, on it and in the state folder: the folder under which no disk is mounted looks like a disk that
 * is empty. Without a state folder nothing is marked, and every folder counts as the disk.
 */
export class DiskMark {
  readonly #root: string;
  readonly #disk: Disk;
  readonly #state: Disk | undefined;
  readonly #turns = new SerialTasks();

  constructor(root: string, state: Disk | undefined, disk = createDirectoryDisk(root)) {
    this.#root = root;
    this.#disk = disk;
    this.#state = state;
  }

  /**
   * Whether the folder shows the disk. It gets a mark when the first volume is to be made, or a release that made none has left some:
   * before that, an empty folder may be what the disk is still to be mounted on.
   */
  async isMounted(isToHold = false): Promise<boolean> {
    const state = this.#state;
    if (!state) return true;
    return this.#turns.run(ON_DISK, async () => {
      if (await this.isAway()) return false;
      const found = await readId(this.#disk, ON_DISK);
      const isMarked = found !== undefined && (await readId(state, BESIDE)) === found;
      const isInUse = isToHold || found !== undefined || (await listKeptIds(this.#root)).length > 0;
      // Where there is no room for it, the next look tries again: what is removed may make some.
      if (!isMarked && isInUse) await this.#make(state, found).catch(() => undefined);
      return true;
    });
  }

  /** In this order a crash, or a disk that is full, never leaves a mark in the state folder that the disk does not have. */
  async #make(state: Disk, found: string | undefined): Promise<void> {
    const mark = JSON.stringify({ id: found ?? randomUUID() });
    if (found === undefined) {
      await state.remove(BESIDE);
      await this.#disk.write(ON_DISK, mark);
    }
    await state.write(BESIDE, mark);
  }

  /** The same without making a mark: another agent may have the node. */
  async isAway(): Promise<boolean> {
    const known = this.#state && (await readId(this.#state, BESIDE));
    if (known === undefined) return false;
    const found = await readId(this.#disk, ON_DISK);
    return found === undefined ? (await listKeptIds(this.#root)).length === 0 : found !== known;
  }

  /** Throws when the disk is away. */
  async check(why: 'failed' | 'not_found', isToHold = false): Promise<void> {
    if (await this.isMounted(isToHold)) return;
    const remedy = `mount it and wait, or remove ${BESIDE} from the state folder of the agent if it is gone for good`;
    throw new VolumeFault(
      why,
      `the disk that holds the volumes of this node is not mounted, or another one is; ${remedy}`,
    );
  }

  /** What a look at the disk shows, where nothing counts only while the disk is there: it may come and go at any moment. */
  async confirm(look: () => Promise<boolean>): Promise<boolean> {
    if (await look()) return true;
    await this.check('not_found');
    if (await look()) return true;
    await this.check('not_found');
    return false;
  }
}

async function readId(disk: Disk, name: string): Promise<string | undefined> {
  return (await readStateFile<{ id: string }>(disk, name, ({ id }) => typeof id === 'string'))?.id;
}
