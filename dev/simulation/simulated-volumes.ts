import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

import {
  StreamChecksum,
  type VolumeDriver,
  type VolumeDriverName,
  VolumeFault,
} from '../../pkg/agent/volumes/index.js';
import type { SimProcess } from './sim-process.js';
import { hasAll, type HeldVolume, isSameLog, type RecordLog, type VolumeDisk } from './volume-disk.js';

/** How many steps of a message an access to a disk takes. */
const ACCESS = 5;
/** The largest size that a machine can give a volume later. */
export const RESIZED_MAX = 3 * 2 ** 20;
/** So much of a stream is read at once. */
const PIECE_BYTES = 1024;

/** An access by a process: it takes time, fails now and then, before or after it took effect, and does not happen when the process has died. */
function access<T>(life: SimProcess, label: string, effect: () => T): Promise<T> {
  if (!life.alive) return new Promise(() => undefined);
  const { world, faults } = life;
  const luck = world.random.next();
  const ms = world.chance(faults.feedLag)
    ? world.between(0, faults.feedLagMs)
    : world.between(0, faults.delayMs * ACCESS);
  return new Promise((resolve, reject) => {
    life.later(ms, label, () => {
      try {
        const result = luck < faults.unreachable / 2 ? undefined : effect();
        if (luck < faults.unreachable) throw new VolumeFault('failed', 'the disk does not answer; it is tried again');
        resolve(result as T);
      } catch (thrown) {
        reject(thrown as Error);
      }
    });
  });
}

/** A snapshot on its way: what a parent has, and what comes after. */
interface SentLog {
  /** What the sender has of the parent; absent when everything is sent. */
  readonly parent?: RecordLog;
  readonly kept: number;
  readonly more: RecordLog;
}

const sum = (bytes: string) => new StreamChecksum().add(Buffer.from(bytes)).toHex();

function pack(log: RecordLog, parent: RecordLog | undefined): string {
  const differs = (parent ?? []).findIndex((record, at) => log[at] !== record);
  const kept = differs < 0 ? (parent?.length ?? 0) : differs;
  const sent: SentLog = { ...(parent && { parent: parent.slice(-1) }), kept, more: log.slice(kept) };
  return JSON.stringify(sent);
}

function unpack(bytes: string, parent: RecordLog | undefined): RecordLog {
  const { parent: meant, kept, more } = JSON.parse(bytes) as SentLog;
  if ((meant === undefined) !== (parent === undefined) || (meant && meant.at(-1) !== parent?.at(-1)))
    throw new VolumeFault('bad_stream', 'it is the difference to something else than is here; send everything');
  return [...(parent ?? []).slice(0, kept), ...more];
}

/** Throws where what is to be written has no room. */
function demandRoom(...places: readonly { readonly isFull: boolean }[]): void {
  if (places.some(({ isFull }) => isFull)) throw new VolumeFault('no_space', 'the disk is full; make room');
}

/** The volumes of a machine as one run of its agent reaches them: logs of records, with snapshots. */
export function createSimulatedVolumes(
  life: SimProcess,
  disk: VolumeDisk,
  name: VolumeDriverName = 'btrfs',
): VolumeDriver {
  const isCounting = name === 'btrfs';
  const turns = new Map<string, Promise<unknown>>();
  const inTurn = <T>(label: string, id: string, effect: () => T): Promise<T> => {
    const turn = (turns.get(id) ?? Promise.resolve()).then(() => access(life, `${label} volume`, effect));
    turns.set(
      id,
      turn.catch(() => undefined),
    );
    return turn;
  };
  const find = (id: string): HeldVolume => {
    const held = disk.held.get(id);
    if (!held) throw new VolumeFault('not_found', 'the bytes of the volume are not here; mount the disk that has them');
    return held;
  };
  const findSnapshot = (id: string, name: string): RecordLog => {
    const found = find(id).snapshots.get(name);
    if (!found) throw new VolumeFault('not_found', 'there is no such snapshot; send everything');
    return found;
  };
  const read = async function* (bytes: Buffer) {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      yield await access(life, 'read volume', () => bytes.subarray(at, at + PIECE_BYTES));
    }
  };
  return {
    name,
    describe: () => ({
      enforcesSize: false,
      snapshotsOnline: isCounting,
      minSizeBytes: 0,
      shrinkFloorBytes: 0,
      limits: [],
    }),
    recover: () => Promise.resolve(),
    materialise: ({ id, sizeBytes, isMade }) =>
      inTurn('make', id, () => {
        if (!isMade && !disk.held.has(id)) {
          demandRoom(disk);
          disk.make(id, sizeBytes);
        }
        return { id, sizeBytes: find(id).sizeBytes };
      }),
    mountPoint: (id, subPath) =>
      inTurn('mount', id, () => {
        find(id);
        return disk.toPath(id, subPath);
      }),
    usage: id =>
      inTurn('measure', id, () => {
        const { records, sizeBytes, isFull } = find(id);
        return { usedBytes: isFull ? sizeBytes : records, sizeBytes, measuredAt: life.clock.now() };
      }),
    resize: (id, sizeBytes) =>
      inTurn('resize', id, () => {
        demandRoom({ isFull: sizeBytes > RESIZED_MAX || (disk.isFull && sizeBytes > find(id).sizeBytes) });
        find(id).sizeBytes = sizeBytes;
        return { id, sizeBytes };
      }),
    snapshot: (id, name) =>
      inTurn('snapshot', id, () => {
        const held = find(id);
        if (held.snapshots.has(name)) return;
        demandRoom(held);
        held.snapshots.set(name, held.log);
        disk.taken.set(`${id} ${name}`, held.log);
        held.written++;
      }),
    moveAside: (id, name) =>
      inTurn('move', id, () => {
        const held = find(id);
        held.snapshots.set(name, held.log);
        held.log = [];
        held.written++;
      }),
    listSnapshots: id => inTurn('list', id, () => [...find(id).snapshots.keys()].toSorted()),
    dropSnapshot: (id, name) =>
      inTurn('drop', id, () => {
        const held = find(id);
        const log = held.snapshots.get(name);
        if (!log) return;
        held.snapshots.delete(name);
        held.written++;
        disk.dropped.push({ id, log });
      }),
    isEmpty: id => inTurn('look', id, () => find(id).log.length === 0),
    isChanged: (id, name) => inTurn('compare', id, () => !isSameLog(find(id).log, findSnapshot(id, name))),
    changeMark: id => inTurn('count', id, () => (isCounting ? String(find(id).written) : undefined)),
    writtenBytes: id => inTurn('count', id, () => (isCounting ? find(id).written : undefined)),
    send: (id, name, parent) =>
      inTurn('send', id, () => {
        const bytes = pack(findSnapshot(id, name), parent === undefined ? undefined : findSnapshot(id, parent));
        life.world.awaitStreams();
        const stream = Readable.from(read(Buffer.from(bytes)), { objectMode: false });
        return { stream, checksum: Promise.resolve(sum(bytes)) };
      }),
    receive: async (id, stream, { snapshot, parent, checksum }) => {
      const bytes = await text(stream);
      if (sum(bytes) !== (await checksum)) throw new VolumeFault('bad_stream', 'its checksum differs; send it again');
      await inTurn('receive', id, () => {
        const log = unpack(bytes, parent === undefined ? undefined : findSnapshot(id, parent));
        demandRoom(disk, find(id));
        find(id).snapshots.set(snapshot, log);
        find(id).written++;
      });
    },
    promote: (id, snapshot, keepAs) =>
      inTurn('promote', id, () => {
        const held = find(id);
        const log = findSnapshot(id, snapshot);
        if (keepAs !== undefined) held.snapshots.set(keepAs, held.log);
        else if (!hasAll(log, held.log)) disk.dropped.push({ id, log: held.log });
        held.log = log;
        held.written++;
      }),
    remove: id => inTurn('remove', id, () => disk.remove(id)),
    list: () => Promise.resolve([...disk.held].map(([id, { sizeBytes }]) => ({ id, sizeBytes }))),
  };
}
