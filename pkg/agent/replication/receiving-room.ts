import type { AssignedVolume } from '../../../crds/volume/index.js';
import { failpoint } from '../../failpoint/index.js';
import { asError } from '../../fault/index.js';
import type { Logger } from '../../log/index.js';
import { type VolumeDriver, VolumeFault } from '../volumes/index.js';
import type { SerialTasks } from '../volumes/serial-tasks.js';
import type { ReplicationRecord, ReplicationRecords } from './record.js';

/** So many times the size that is asked for a copy may take while the next one arrives beside it. */
const GROWN_MAX = 2;
/** A volume is grown by so much at least: less is full again at once. */
const GROWN_MIN = 64 * 2 ** 20;

export interface ReceivingRoomParts {
  readonly log: Logger;
  readonly driver: VolumeDriver;
  readonly records: ReplicationRecords;
  readonly turns: SerialTasks;
  readonly find: (id: string) => AssignedVolume | undefined;
}

/** What did not fit beside what is here. */
export interface RefusedCopy {
  readonly record: ReplicationRecord;
  /** How long it may become, by estimate. */
  readonly bytes: number | undefined;
  /** Snapshots that are here, that the primary has, and that nothing needs. */
  readonly spare: readonly string[];
  /** Whether the primary has all that is here. */
  readonly isContained: boolean;
}

/**
 * Makes room for a copy that did not fit, one step with each attempt: what nothing needs goes; the volume grows for the time being; and
 * where its node has no room either, the copy before goes, of which the primary has everything. Bytes that the primary does not have stay.
 */
export class ReceivingRoom {
  readonly #parts: ReceivingRoomParts;
  readonly #grown = new Set<string>();

  constructor(parts: ReceivingRoomParts) {
    this.#parts = parts;
  }

  /** Whether a volume is larger than it was asked for until the copy has arrived that it was grown for. */
  isGrown(id: string): boolean {
    return this.#grown.has(id);
  }

  /** The copy has arrived, or is not sent any more. */
  forget(id: string): void {
    this.#grown.delete(id);
  }

  async make(id: string, refused: RefusedCopy): Promise<void> {
    const { driver, log } = this.#parts;
    try {
      for (const name of refused.spare) await driver.dropSnapshot(id, name);
      if (refused.spare.length > 0 || (await this.#grow(id, refused))) return;
      if (refused.isContained) await this.#giveUpCopy(id, refused.record);
    } catch (thrown) {
      log.warn('no room can be made for a copy yet', { volume: id, error: asError(thrown) });
    }
  }

  async #grow(id: string, { bytes }: RefusedCopy): Promise<boolean> {
    const { driver, find, log } = this.#parts;
    const asked = find(id)?.sizeBytes;
    if (asked === undefined || !driver.describe().enforcesSize) return false;
    const { sizeBytes, usedBytes } = await driver.usage(id);
    const wanted = Math.min(asked * GROWN_MAX, sizeBytes + Math.max(bytes ?? usedBytes, GROWN_MIN));
    if (wanted <= sizeBytes) return false;
    this.#grown.add(id); // first: what the agent sees larger than it was asked for is shrunk
    try {
      await driver.resize(id, wanted);
    } catch (thrown) {
      if (!(thrown instanceof VolumeFault)) throw thrown;
      return false;
    }
    log.info('a volume is larger than it was asked for until its next copy is here', { volume: id });
    return true;
  }

  /** Until everything has arrived, no copy is here that could be promoted: its primary is notified, and has every byte. */
  async #giveUpCopy(id: string, { synced }: ReplicationRecord): Promise<void> {
    const { driver, find, log, records, turns } = this.#parts;
    const { sizeBytes } = await driver.usage(id);
    if (sizeBytes < (find(id)?.sizeBytes ?? Infinity)) return; // what fits into the volume of the primary may not fit here
    await turns.run(id, async () => {
      const { synced: now, ...record } = (await records.read(id))!;
      if (!synced || now?.snapshot !== synced.snapshot || now.at !== synced.at) return;
      await records.write(id, record);
      failpoint('volume.copy_given_up');
      await driver.dropSnapshot(id, synced.snapshot);
      log.warn('the copy of a volume was given up, since the next one does not fit beside it', { volume: id });
    });
  }
}
