import { createHash } from 'node:crypto';
import { readdir, rename, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

import { isTypedId } from '../../../crds/grammar/index.js';
import type { Clock } from '../../clock/index.js';
import { failpoint, FailpointFault } from '../../failpoint/index.js';
import type { Backend } from './backend.js';
import {
  type DriverLimits,
  type IncomingSnapshot,
  type LocalVolume,
  type OutgoingSnapshot,
  type VolumeDriver,
  VolumeFault,
  type VolumeUsage,
} from './driver.js';
import { isPresent, makePrivateFolder, syncFolder } from './files.js';
import { runTool } from './run-tool.js';
import { checkDigest, hashing, toOutgoing } from './stream-digest.js';
import { openBelow } from './sub-path.js';
import { Turns } from './turns.js';
import {
  checkRecord,
  checkReserve,
  checkShrink,
  checkSnapshotName,
  roundSize,
  throwLost,
  toVolumeFault,
} from './volume-checks.js';
import { readRecord, type VolumeRecord, writeRecord } from './volume-record.js';

const REMOVED = '.removed-';
const removeFolder = (path: string) => runTool('rm', '-rf', '--one-file-system', '--', path);
/** The turn of what takes space of the machine: two must not count on the same. */
const SPACE = 'space';

export interface LocalVolumesEnv {
  readonly clock: Clock;
  readonly backend: Backend;
  /** Where volumes are kept, each in a folder of its own. */
  readonly root: string;
  /** What volumes leave free on the machine's file system, in bytes. */
  readonly reserveBytes: number;
}

/** The volumes in a folder of this machine: order, sizes and checks around the steps of a backend. */
export class LocalVolumes implements VolumeDriver {
  readonly #env: LocalVolumesEnv;
  readonly #backend: Backend;
  readonly #turns = new Turns();
  readonly #receiving = new Map<string, AbortController>();
  readonly #faults = new Map<string, string>();
  readonly writtenBytes = (id: string) => this.#backend.countWritten(join(this.#env.root, id)); // asked for often: not in turn

  constructor(env: LocalVolumesEnv) {
    this.#env = env;
    this.#backend = env.backend;
  }

  get name() {
    return this.#backend.name;
  }

  describe(): DriverLimits {
    return this.#backend.limits;
  }

  async recover(): Promise<void> {
    const { root } = this.#env;
    await makePrivateFolder(root);
    await this.#backend.recover(root);
    for (const name of await readdir(root)) {
      if (name.startsWith(REMOVED)) await removeFolder(join(root, name)).catch(() => undefined); // again at the next start
    }
    for (const id of await this.#listIds()) {
      await this.#inTurn(id, async folder => {
        if (!(await this.#backend.isMade(folder))) return;
        await this.#settle(id, folder);
        await this.#backend.discard(folder);
      }).catch(() => undefined); // told by `list`
    }
  }

  materialise({ id, sizeBytes, isMade }: Parameters<VolumeDriver['materialise']>[0]): Promise<LocalVolume> {
    return this.#inTurn(id, folder =>
      this.#turns.run(SPACE, async () => {
        if (isMade && !(await this.#backend.isMade(folder))) throwLost();
        if (!(await readRecord(folder))) {
          const size = roundSize(sizeBytes, this.describe());
          if (!(await isPresent(folder))) await this.#checkReserve(size);
          await makePrivateFolder(folder);
          await syncFolder(this.#env.root);
          await writeRecord(folder, { driver: this.name, sizeBytes: size });
          failpoint('volume.recorded');
        }
        return { id, sizeBytes: await this.#settle(id, folder) };
      }),
    );
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
    return this.#onVolume(id, (folder, { sizeBytes: from }) => {
      const size = roundSize(sizeBytes, this.describe());
      return this.#turns.run(size > from ? SPACE : `${id} shrinks`, async () => {
        if (size > from) await this.#checkReserve(size - from);
        if (size < from) checkShrink(size, await this.#backend.measure(folder), this.describe());
        if (size !== from) await writeRecord(folder, { driver: this.name, sizeBytes: size, from });
        failpoint('volume.resizing');
        const settled = await this.#settle(id, folder);
        failpoint('volume.resized');
        if (settled === size) return { id, sizeBytes: size };
        throw new VolumeFault('refused', 'what the volume holds cannot be moved into that size; choose a larger one');
      });
    });
  }

  snapshot(id: string, name: string): Promise<void> {
    return this.#onVolume(id, async folder => {
      if (!(await this.#has(folder, name))) await this.#backend.takeSnapshot(folder, name);
    });
  }

  listSnapshots(id: string): Promise<readonly string[]> {
    return this.#onVolume(id, async folder => this.#backend.listSnapshots(folder));
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
      const { source, ended } = this.#backend.send(folder, snapshot, parent);
      return toOutgoing(source, ended);
    });
  }

  async receive(id: string, stream: Readable, { snapshot, parent, digest }: IncomingSnapshot): Promise<void> {
    const giveUp = new AbortController();
    return this.#inTurn(
      id,
      async folder => {
        const { sizeBytes: maxBytes } = checkRecord(await readRecord(folder), this.name);
        if (await this.#has(folder, snapshot)) return;
        if (parent !== undefined) await this.#checkSnapshots(folder, [parent]);
        this.#receiving.set(id, giveUp);
        giveUp.signal.addEventListener('abort', () => stream.destroy(giveUp.signal.reason as Error));
        try {
          await this.#backend.discard(folder);
          const hash = createHash('sha256');
          await this.#backend.receive(folder, hashing(stream, hash), { parent, maxBytes, signal: giveUp.signal });
          await checkDigest(hash, digest);
          giveUp.signal.throwIfAborted();
          failpoint('volume.received');
          await this.#backend.accept(folder, snapshot);
          failpoint('volume.accepted');
        } catch (thrown) {
          stream.destroy();
          await this.#backend.discard(folder);
          throw thrown;
        } finally {
          this.#receiving.delete(id);
        }
      },
      `${id} receives`,
    );
  }

  promote(id: string, snapshot: string, keepAs?: string): Promise<void> {
    return this.#onVolume(id, async (folder, { sizeBytes }) => {
      await this.#checkSnapshots(folder, [snapshot]);
      if (keepAs !== undefined && !(await this.#has(folder, keepAs))) {
        await this.#backend.takeSnapshot(folder, keepAs);
      }
      await this.#backend.settle(folder, sizeBytes);
      await this.#backend.promote(folder, snapshot);
      await this.#backend.settle(folder, sizeBytes);
    });
  }

  async remove(id: string): Promise<void> {
    this.#receiving.get(id)?.abort(new VolumeFault('failed', 'the volume is being removed; send it elsewhere'));
    await this.#turns.run(`${id} receives`, () => Promise.resolve());
    await this.#inTurn(id, async folder => {
      const removed = join(this.#env.root, `${REMOVED}${id}`);
      await removeFolder(removed);
      if (!(await isPresent(folder))) return;
      const record = await readRecord(folder);
      if (record) checkRecord(record, this.name);
      await this.#backend.release(folder);
      failpoint('volume.released');
      await rename(folder, removed);
      failpoint('volume.removing');
      await removeFolder(removed);
    });
  }

  async list(): Promise<readonly LocalVolume[]> {
    const ids = await this.#listIds();
    return Promise.all(
      ids.map(async id => {
        const record = await readRecord(join(this.#env.root, id));
        const fault = this.#faults.get(id) ?? (record ? undefined : 'its record cannot be read; materialise it again');
        return { id, sizeBytes: record?.sizeBytes ?? 0, ...(fault === undefined ? {} : { fault }) };
      }),
    );
  }

  async #listIds(): Promise<readonly string[]> {
    const names = (await isPresent(this.#env.root)) ? await readdir(this.#env.root) : [];
    return names.filter(name => isTypedId('vol', name)).sort();
  }

  /** Brings a volume to the size of its record, or back to the one before when it cannot have that; answers which. */
  async #settle(id: string, folder: string): Promise<number> {
    try {
      const record = checkRecord(await readRecord(folder), this.name);
      const size = await this.#settleTo(folder, record);
      if (record.from !== undefined) await writeRecord(folder, { driver: this.name, sizeBytes: size });
      this.#faults.delete(id);
      return size;
    } catch (thrown) {
      this.#faults.set(id, toVolumeFault(thrown).message);
      throw thrown;
    }
  }

  async #settleTo(folder: string, { sizeBytes, from }: VolumeRecord): Promise<number> {
    try {
      await this.#backend.settle(folder, sizeBytes);
      return sizeBytes;
    } catch (thrown) {
      if (from === undefined || thrown instanceof FailpointFault) throw thrown;
      await this.#backend.settle(folder, from);
      return from;
    }
  }

  async #checkReserve(moreBytes: number): Promise<void> {
    const { root, reserveBytes } = this.#env;
    if (!this.#backend.limits.enforcesSize) return;
    const { bavail, bsize } = await statfs(root);
    checkReserve(moreBytes, { freeBytes: bavail * bsize, reserveBytes });
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

  /** Runs work on a volume that is there, when it is its turn. */
  #onVolume<T>(id: string, work: (folder: string, record: VolumeRecord) => Promise<T>): Promise<T> {
    return this.#inTurn(id, async folder => work(folder, checkRecord(await readRecord(folder), this.name)));
  }

  async #inTurn<T>(id: string, work: (folder: string) => Promise<T>, key = id): Promise<T> {
    if (!isTypedId('vol', id)) throw new VolumeFault('refused', 'that is not the id of a volume; use vol_…');
    return this.#turns
      .run(key, () => work(join(this.#env.root, id)))
      .catch((thrown: unknown) => {
        throw toVolumeFault(thrown);
      });
  }
}
