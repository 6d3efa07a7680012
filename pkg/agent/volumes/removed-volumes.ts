import { rename, statfs } from 'node:fs/promises';
import { join } from 'node:path';

import type { Clock } from '../../clock/index.js';
import { failpoint } from '../../failpoint/index.js';
import { ignoreMissing } from '../disk.js';
import type { DriverLimits, RemovedAbout, RemovedBytes, ReportedRemoval } from './driver.js';
import { removeFolder, syncFolder } from './files.js';
import {
  chooseName,
  dropNote,
  listDeleted,
  listRemoved,
  readVolumeId,
  type RemovedRecord,
  toDeletedPath,
  toKeptPath,
  writeNote,
} from './removed-record.js';
import { runLongTool } from './run-tool.js';
import { SerialTasks } from './serial-tasks.js';

/** The reported time when a volume goes moves with the clock of the machine, and each change is a write. */
const NEWS_MS = 15 * 60_000;

export interface RemovedVolumesEnv {
  readonly clock: Pick<Clock, 'now'>;
  readonly root: string;
  readonly reserveBytes: number;
  readonly backend: { readonly limits: Pick<DriverLimits, 'enforcesSize'> };
  /** For how long removed volumes are kept; 0: not at all. */
  readonly keepRemovedMs: number;
}

/**
 * The volumes that were removed here by order. They are out of the way, with all that they held, and are deleted after a time, or before
 * where their room is needed. The time is added up by the caller, so that no clock which jumps ends it.
 */
export class RemovedVolumes implements RemovedBytes {
  readonly #env: RemovedVolumesEnv;
  readonly #turns = new SerialTasks();
  #reported: readonly ReportedRemoval[] = [];

  constructor(env: RemovedVolumesEnv) {
    this.#env = env;
  }

  get reported(): readonly ReportedRemoval[] {
    return this.#reported;
  }

  async countBytes(): Promise<number> {
    return sum(await listRemoved(this.#env.root));
  }

  /** Takes the folder of a volume that nothing uses any more: from here on the volume is removed. */
  async take(id: string, about?: RemovedAbout): Promise<void> {
    const { root } = this.#env;
    const folder = join(root, id);
    await dropNote(folder);
    // The bytes are kept also without it: a disk that is full must not hold up what may make room on it.
    await writeNote(folder, { keptMs: 0, ...about }).catch(() => undefined);
    await rename(folder, toKeptPath(root, await chooseName(root, id)));
    await syncFolder(root);
    failpoint('volume.removed');
  }

  /** Deletes what is not to be kept any more of a volume that was taken. Throws when it cannot be. */
  async settle(id: string): Promise<void> {
    const { root, keepRemovedMs } = this.#env;
    const isOf = (name: string) => readVolumeId(name) === id;
    if (keepRemovedMs === 0) {
      await this.#inTurn(async () => {
        for (const { name } of await listRemoved(root)) if (isOf(name)) await this.#giveUp(name);
        for (const name of await listDeleted(root)) if (isOf(name)) await removeFolder(toDeletedPath(root, name));
      });
    }
    await this.look();
  }

  async age(ms: number): Promise<void> {
    const { root, backend, keepRemovedMs } = this.#env;
    await this.#inTurn(async () => {
      for (const each of await listRemoved(root)) {
        const keptMs = each.keptMs + ms;
        if (keptMs >= keepRemovedMs) await this.#giveUp(each.name);
        else await writeNote(toKeptPath(root, each.name), { ...each, keptMs }).catch(() => undefined); // it is kept longer
      }
      if (!backend.limits.enforcesSize) await this.#keepReserve();
    });
    await this.finish();
  }

  /** Completes deletions that were begun, and measures what is kept. */
  async finish(): Promise<void> {
    const { root } = this.#env;
    await this.#inTurn(async () => {
      for (const name of await listDeleted(root)) {
        await removeFolder(toDeletedPath(root, name)).catch(() => undefined); // the next look tries again
      }
    });
    await this.look();
  }

  /** Deletes the oldest where the disk has so much free then; none where all of them would not be enough. */
  async makeRoom(freeBytes: number): Promise<void> {
    await this.#inTurn(async () => {
      const removed = await listRemoved(this.#env.root);
      const missing = freeBytes - (await this.#countFree());
      if (missing > 0 && sum(removed) >= missing) await this.#giveBack(removed, missing);
    });
  }

  /** Where what is written to volumes takes the disk, and no order: what was removed makes way. */
  async #keepReserve(): Promise<void> {
    const { root, reserveBytes } = this.#env;
    const removed = await listRemoved(root);
    const missing = removed.length === 0 ? 0 : reserveBytes - (await this.#countFree());
    if (missing > 0) await this.#giveBack(removed, missing);
  }

  /** By what each takes, and not by what is free after it: some file systems give back only after a while. */
  async #giveBack(removed: readonly RemovedRecord[], missing: number): Promise<void> {
    const { root } = this.#env;
    let left = missing;
    for (const { name, bytes } of removed) {
      if (left <= 0) break;
      const size = bytes ?? (await this.#count(name)); // a disk that is full has not taken the note of it
      await this.#giveUp(name);
      const isGone = await removeFolder(toDeletedPath(root, name)).then(
        () => true,
        () => false,
      );
      if (isGone) left -= size;
    }
    await runLongTool('sync', '--file-system', '--', root);
  }

  /** Measures what is not measured yet, and sees what there is to report. */
  async look(): Promise<void> {
    await this.#inTurn(async () => {
      for (const each of await listRemoved(this.#env.root)) if (each.bytes === undefined) await this.#measure(each);
      await this.see();
    });
  }

  /** Sees what there is to report, and changes nothing. */
  async see(): Promise<void> {
    this.#reported = (await listRemoved(this.#env.root)).map(each => this.#describe(each));
  }

  #describe({ name, volume, keptMs, bytes = 0 }: RemovedRecord): ReportedRemoval {
    const { clock, keepRemovedMs } = this.#env;
    const until = clock.now() + keepRemovedMs - keptMs;
    const { until: before = until } = this.#reported.find(each => each.name === name) ?? {};
    const isNews = Math.abs(before - until) >= NEWS_MS;
    return { name, ...(volume !== undefined && { volume }), bytes, until: isNews ? until : before };
  }

  /** It changes no more. What cannot be measured or noted is tried again by the next look. */
  async #measure(removed: RemovedRecord): Promise<void> {
    const { name } = removed;
    try {
      await writeNote(toKeptPath(this.#env.root, name), { ...removed, bytes: await this.#count(name) });
    } catch {
      // It counts for nothing until then.
    }
  }

  async #count(name: string): Promise<number> {
    const folder = toKeptPath(this.#env.root, name);
    return Number.parseInt(
      await runLongTool('du', '--summarize', '--one-file-system', '--block-size=1', '--', folder),
      10,
    );
  }

  /** From here on it cannot be brought back; that may have been done just before. */
  async #giveUp(name: string): Promise<void> {
    const { root } = this.#env;
    await rename(toKeptPath(root, name), toDeletedPath(root, name)).catch(ignoreMissing);
    failpoint('volume.deleting');
  }

  async #countFree(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#env.root);
    return bavail * bsize;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run('removed', work);
  }
}

function sum(removed: readonly RemovedRecord[]): number {
  return removed.reduce((total, { bytes = 0 }) => total + bytes, 0);
}
