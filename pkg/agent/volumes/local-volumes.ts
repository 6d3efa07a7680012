import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

import { isTypedId } from '../../../crds/grammar/index.js';
import { type Clock, sleep } from '../../clock/index.js';
import { failpoint } from '../../failpoint/index.js';
import { DiskMark } from './disk-mark.js';
import {
  type DriverLimits,
  type IncomingSnapshot,
  type LocalVolume,
  type OutgoingSnapshot,
  type RemovedAbout,
  type VolumeDriver,
  VolumeFault,
  type VolumeUsage,
} from './driver.js';
import { isPresent, makePrivateFolder, syncFolder } from './files.js';
import { RemovedVolumes } from './removed-volumes.js';
import { checkSum, createStallFault, StallWatch, StreamChecksum, summing, toOutgoing } from './stream-checksum.js';
import { openBelow } from './sub-path.js';
import { SerialTasks } from './serial-tasks.js';
import { checkRecord, checkSnapshotName, roundSize, throwLost, throwVolumeFault } from './volume-checks.js';
import { listKeptIds, readRecord, takeRecord, type VolumeRecord, writeRecord } from './volume-record.js';
import { VolumeSizes, type VolumeSizesEnv } from './volume-sizes.js';

const UNREADABLE = 'its record cannot be read; materialise it again';
/** How long everything else waits, at first, for what volumes that are gone still hold of the machine. */
const CLEAN_MS = 10_000;
/** Volumes that are brought back at the same time. */
const LANES = 8;
/** A stream that sent nothing for so long is given up. */
const STALL_MS = 300_000;

export interface LocalVolumesEnv extends Omit<VolumeSizesEnv, 'removed'> {
  readonly clock: Clock;
  /** For how long volumes that were removed are kept; 0: not at all. */
  readonly keepRemovedMs: number;
  /** For tests. Default: five minutes. */
  readonly stallMs?: number;
}

/** The volumes in a folder of this machine: order, sizes and checks around the steps of a backend. */
export class LocalVolumes implements VolumeDriver {
  readonly #env: LocalVolumesEnv;
  readonly #backend: LocalVolumesEnv['backend'];
  readonly #turns = new SerialTasks();
  readonly #sizes: VolumeSizes;
  readonly removed: RemovedVolumes;
  readonly #mark: DiskMark;
  readonly #receiving = new Map<string, AbortController>();
  readonly changeMark = (id: string) => this.#backend.readChangeMark(join(this.#env.root, id)); // asked for often: not in turn
  readonly writtenBytes = (id: string) => this.#backend.countWritten(join(this.#env.root, id));
  readonly listSnapshots = (id: string) => this.#onVolume(id, folder => this.#backend.listSnapshots(folder));
  readonly isEmpty = (id: string) =>
    this.#onVolume(id, async folder => (await readdir(await this.#backend.openRoot(folder))).length === 0);
  readonly name: VolumeDriver['name'];
  readonly describe = (): DriverLimits => this.#backend.limits;
  #begun: Promise<void> | undefined;

  constructor(env: LocalVolumesEnv) {
    this.#env = env;
    this.#backend = env.backend;
    this.name = env.backend.name;
    this.removed = new RemovedVolumes(env);
    this.#sizes = new VolumeSizes({ ...env, removed: this.removed }, this.#turns);
    this.#mark = new DiskMark(env.root, env.state);
  }

  async recover(): Promise<void> {
    const { root } = this.#env;
    this.#begun = undefined;
    await this.#untilBegun();
    const waiting = [...(await listKeptIds(root)).map(id => () => this.#bringBack(id)), () => this.removed.finish()];
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await next().catch(() => undefined); // reported by `list`
    };
    await Promise.all(Array.from({ length: LANES }, work));
  }

  async #bringBack(id: string): Promise<void> {
    const isMade = await this.#inTurn(id, async folder => {
      const isThere = await this.#backend.isMade(folder);
      if (isThere) await this.#sizes.settle(id, folder);
      return isThere;
    });
    if (isMade) await this.#inTurn(id, folder => this.#backend.discard(folder), `${id} receives`);
  }

  /** Resolves once things may be changed. What fails is tried again by the next call. */
  #untilBegun(): Promise<void> {
    this.#begun ??= this.#begin().catch((thrown: unknown) => {
      this.#begun = undefined;
      throw thrown;
    });
    return this.#begun;
  }

  /** A device that hangs is not waited for. */
  async #begin(): Promise<void> {
    const { clock, root } = this.#env;
    await makePrivateFolder(root);
    await this.#mark.isMounted();
    await Promise.race([this.#backend.recover(root), sleep(clock, CLEAN_MS)]);
  }

  materialise({ id, sizeBytes, isMade }: Parameters<VolumeDriver['materialise']>[0]): Promise<LocalVolume> {
    return this.#inTurn(id, async folder => {
      if (isMade && !(await this.#backend.isMade(folder))) throwLost();
      if (!(await readRecord(folder))) {
        await this.#mark.check('failed');
        const size = roundSize(sizeBytes, this.describe());
        await this.#sizes.checkRoom(folder, size);
        await this.#mark.check('failed', true); // not before: a disk may follow that has room for it
        await makePrivateFolder(folder);
        await syncFolder(this.#env.root);
        await writeRecord(folder, { driver: this.name, sizeBytes: size });
        failpoint('volume.recorded');
      }
      return { id, sizeBytes: await this.#sizes.settle(id, folder) };
    });
  }

  mountPoint(id: string, subPath = ''): Promise<string> {
    return this.#onVolume(id, async folder => {
      const root = await this.#backend.openRoot(folder);
      if (subPath === '') return root;
      const opened = await openBelow(root, subPath);
      try {
        return await this.#backend.pin(folder, join(root, subPath), opened.fd);
      } finally {
        await opened.close();
      }
    });
  }

  usage(id: string): Promise<VolumeUsage> {
    return this.#onVolume(id, async (folder, { sizeBytes }) => {
      return { usedBytes: await this.#backend.measure(folder), sizeBytes, measuredAt: this.#env.clock.now() };
    });
  }

  resize(id: string, sizeBytes: number): Promise<LocalVolume> {
    return this.#onVolume(id, async (folder, record) => {
      const { sizeBytes: from } = record;
      const size = await this.#sizes.plan(folder, from, sizeBytes);
      if (size !== from) await writeRecord(folder, { ...record, sizeBytes: size, from });
      failpoint('volume.resizing');
      const settled = await this.#sizes.settle(id, folder);
      failpoint('volume.resized');
      if (settled === size) return { id, sizeBytes: size };
      throw new VolumeFault('refused', 'what the volume holds cannot be moved into that size; choose a larger one');
    });
  }

  snapshot(id: string, name: string): Promise<void> {
    return this.#onVolume(id, async folder => {
      if (!(await this.#has(folder, name))) await this.#backend.takeSnapshot(folder, name);
    });
  }

  moveAside(id: string, name: string): Promise<void> {
    return this.#onVolume(id, async folder => {
      await this.#sizes.settle(id, folder);
      if (!(await this.#has(folder, name))) await this.#backend.moveAside(folder, name);
      await this.#sizes.settle(id, folder);
    });
  }

  dropSnapshot(id: string, name: string): Promise<void> {
    return this.#onVolume(id, async folder => {
      if (await this.#has(folder, name)) await this.#backend.dropSnapshot(folder, name);
    });
  }

  isChanged(id: string, snapshot: string): Promise<boolean> {
    return this.#onVolume(id, folder => this.#backend.differs(folder, checkSnapshotName(snapshot)));
  }

  send(id: string, snapshot: string, parent?: string): Promise<OutgoingSnapshot> {
    return this.#onVolume(id, async folder => {
      await this.#checkSnapshots(folder, [snapshot, ...(parent === undefined ? [] : [parent])]);
      return toOutgoing(this.#backend.send(folder, snapshot, parent), giveUp => this.#watch(giveUp));
    });
  }

  async receive(id: string, stream: Readable, incoming: IncomingSnapshot): Promise<void> {
    const { snapshot, parent, checksum, giveBack, isWaiting } = incoming;
    const giveUp = new AbortController();
    stream.on('error', () => undefined); // its reader reports it, and there is none yet
    return this.#inTurn(
      id,
      async folder => {
        this.#receiving.set(id, giveUp); // first: a removal that did not know of it would leave it waiting
        const { signal } = giveUp;
        signal.addEventListener('abort', () => stream.destroy(signal.reason as Error));
        const watch = this.#watch(fault => giveUp.abort(fault), isWaiting);
        try {
          const { sizeBytes: maxBytes } = checkRecord(await readRecord(folder), this.name);
          if (await this.#has(folder, snapshot)) return;
          if (parent !== undefined) await this.#checkSnapshots(folder, [parent]);
          const own = new StreamChecksum();
          const { sum = own } = incoming;
          try {
            await this.#backend.discard(folder);
            const chunks = summing(stream, watch, sum === own ? own : undefined);
            await this.#backend.receive(folder, chunks, { parent, maxBytes, signal, giveBack });
            await checkSum(sum, checksum, signal);
            failpoint('volume.received');
            await this.#backend.accept(folder, snapshot);
            failpoint('volume.accepted');
          } catch (thrown) {
            stream.destroy();
            await this.#backend.discard(folder);
            throw signal.aborted ? (signal.reason as Error) : thrown;
          }
        } finally {
          watch.end();
          this.#receiving.delete(id);
        }
      },
      `${id} receives`,
    );
  }

  promote(id: string, snapshot: string, keepAs?: string): Promise<void> {
    return this.#onVolume(id, async folder => {
      await this.#checkSnapshots(folder, [snapshot]);
      if (keepAs !== undefined && !(await this.#has(folder, keepAs))) {
        await this.#backend.takeSnapshot(folder, keepAs);
      }
      await this.#sizes.settle(id, folder);
      await this.#backend.promote(folder, snapshot);
      await this.#sizes.settle(id, folder);
    });
  }

  async remove(id: string, about?: RemovedAbout): Promise<void> {
    this.#receiving.get(id)?.abort(new VolumeFault('failed', 'the volume is being removed; send it elsewhere'));
    await this.#turns.run(`${id} receives`, () => Promise.resolve());
    await this.#inTurn(id, async folder => {
      if (await this.#mark.confirm(() => isPresent(folder))) {
        const record = await takeRecord(folder);
        if (record) checkRecord(record, this.name);
        await this.#backend.release(folder);
        failpoint('volume.released');
        await this.removed.take(id, about);
      }
      await this.removed.settle(id);
    });
  }

  async list(): Promise<readonly LocalVolume[]> {
    const ids = await listKeptIds(this.#env.root);
    return Promise.all(
      ids.map(async id => {
        const record = await readRecord(join(this.#env.root, id));
        const fault = this.#sizes.findFault(id) ?? (record ? undefined : UNREADABLE);
        return { id, sizeBytes: record?.sizeBytes ?? 0, ...(fault === undefined ? {} : { fault }) };
      }),
    );
  }

  #watch(giveUp: (fault: VolumeFault) => void, isWaiting?: () => boolean): StallWatch {
    const { clock, stallMs = STALL_MS } = this.#env;
    return new StallWatch(clock, stallMs, () => giveUp(createStallFault()), isWaiting);
  }

  async #checkSnapshots(folder: string, names: readonly string[]): Promise<void> {
    for (const name of names) {
      if (await this.#has(folder, name)) continue;
      throw new VolumeFault('not_found', `the volume has no snapshot ${name} here; send a whole one`);
    }
  }

  async #has(folder: string, name: string): Promise<boolean> {
    checkSnapshotName(name);
    return (await this.#backend.listSnapshots(folder)).includes(name);
  }

  /** Runs work on an existing volume, one after the other. */
  #onVolume<T>(id: string, work: (folder: string, record: VolumeRecord) => Promise<T>): Promise<T> {
    return this.#inTurn(id, async folder => work(folder, checkRecord(await readRecord(folder), this.name)));
  }

  async #inTurn<T>(id: string, work: (folder: string) => Promise<T>, key = id): Promise<T> {
    if (!isTypedId('vol', id)) throw new VolumeFault('refused', 'that is not the id of a volume; use vol_…');
    return this.#turns
      .run(key, async () => {
        await this.#untilBegun();
        return work(join(this.#env.root, id));
      })
      .catch(throwVolumeFault);
  }
}
