import type { Readable } from 'node:stream';

import { Fault } from '../../fault/index.js';

export type VolumeDriverName = 'btrfs' | 'directory';

/** What a driver can and cannot do. Shown in the status of its volumes. */
export interface DriverLimits {
  /** A workload that has used up its volume gets ENOSPC. Otherwise the size is only compared with what is measured. */
  readonly enforcesSize: boolean;
  /** Snapshots are taken while writers write, and are as if the machine had lost power then. Otherwise stop them first. */
  readonly snapshotsOnline: boolean;
  /** A smaller volume is made this large. */
  readonly minSizeBytes: number;
  /** No resize goes below this, however little is used. */
  readonly shrinkFloorBytes: number;
  /** What this driver cannot hold or keep, in sentences for people. */
  readonly limits: readonly string[];
}

/** A volume as it is found on this machine, known to the control plane or not. */
export interface LocalVolume {
  readonly id: string;
  readonly sizeBytes: number;
  /** Why it cannot be used, with the remedy. It is tried again by `materialise`. */
  readonly fault?: string;
}

export interface VolumeUsage {
  /** What its files and its snapshots take up. */
  readonly usedBytes: number;
  readonly sizeBytes: number;
  /** Wall time in milliseconds. */
  readonly measuredAt: number;
}

/** A snapshot on its way out. The stream fails, and never ends early, when something is missing. */
export interface OutgoingSnapshot {
  readonly stream: Readable;
  /** Of the whole stream, see `StreamChecksum`. Resolves at its end, rejects when it fails. */
  readonly checksum: Promise<string>;
  /** May be called with each chunk that is not needed any more, if it is there: its memory is used again. */
  readonly giveBack?: (chunk: Buffer) => void;
}

/** What an arriving stream must be. */
export interface IncomingSnapshot {
  /** The name that it gets here. */
  readonly snapshot: string;
  /** The snapshot that the stream is the difference to; it must be here, and be the one that the sender used. */
  readonly parent?: string;
  /** As the sender computed it; it may become known only after the stream. */
  readonly checksum: string | Promise<string>;
  /** The checksum of what has come of the stream, where it is computed already. */
  readonly sum?: { readonly toHex: () => string };
  /** Whether the stream has stopped for a reason: that nothing of it passes is none to give it up. */
  readonly isWaiting?: () => boolean;
  /** May be called with each chunk of the stream that is not needed any more. */
  readonly giveBack?: (chunk: Buffer) => void;
}

/** What an agent knows of a volume that it removes, for one who brings it back. */
export interface RemovedAbout {
  /** Its name, which nothing else may know any more. */
  readonly volume: string;
  /** What the node was to it, where it is replicated. */
  readonly replication?: object | undefined;
}

/** A removed volume as it is reported. */
export interface ReportedRemoval {
  /** `vol_….1`: a copy that was removed may be made and removed again. */
  readonly name: string;
  readonly volume?: string;
  readonly bytes: number;
  /** When it goes, if its agent runs all the time: milliseconds of the wall clock, which decide nothing. */
  readonly until: number;
}

/** The bytes of removed volumes that are still there. */
export interface RemovedBytes {
  /** What was there at the last look. */
  readonly reported: readonly ReportedRemoval[];
  /** What deleting all of them would give back, as far as it is measured. */
  countBytes(): Promise<number>;
  /** Adds to the time that each was kept, and deletes those whose time is over. */
  age(ms: number): Promise<void>;
}

/**
 * Volumes on the disk of one machine.
 *
 * Every call may be repeated after a crash at any step, and then completes what was begun. Calls about one volume run
 * one after another, calls about different ones at the same time. Nothing outside of the driver's own folder is written.
 * An id (`vol_…`) and the name of a snapshot (lowercase letters, digits and inner hyphens, at most 63) are checked before they become part of a path.
 *
 * What fails is thrown as a `VolumeFault`: cause and remedy, without ids, times or addresses that differ between two
 * attempts. It is up to the caller that no workload uses a volume during `promote`, `moveAside` and `remove`.
 */
export interface VolumeDriver {
  readonly name: VolumeDriverName;

  describe(): DriverLimits;

  /**
   * Once the agent has its node: volumes that are there can be mounted again, what was begun and cannot be completed is cleaned up. A
   * volume that cannot be brought back is reported by `list` and stops no other. No other call needs to wait for it.
   */
  recover(): Promise<void>;

  /**
   * Makes the volume if it does not exist, and makes sure that it can be used. An existing volume keeps its size. One that was made
   * before and is not there is refused: its disk may be away, and a workload must not start over on an empty one.
   */
  materialise(volume: {
    readonly id: string;
    readonly sizeBytes: number;
    readonly isMade?: boolean;
  }): Promise<LocalVolume>;

  /**
   * The folder to mount into a container: the root of the volume, or a folder below it, which is made if missing.
   *
   * No component of `subPath` may be `..` or a symbolic link: a hostile workload could have planted it. A folder below the root is
   * answered as a mount of what was checked, so that nothing can be put in its place; an agent that is not root refuses it.
   */
  mountPoint(id: string, subPath?: string): Promise<string>;

  usage(id: string): Promise<VolumeUsage>;

  /**
   * Grows or shrinks a volume in use; answers the size that it has then. A large shrink takes several calls, between which others have
   * their turn. Refused below what is used, and when the machine's reserve would not be left.
   */
  resize(id: string, sizeBytes: number): Promise<LocalVolume>;

  /** Keeps what the volume holds now, read-only. Does nothing when a snapshot of this name is there. */
  snapshot(id: string, name: string): Promise<void>;
  /** Where no snapshot can be taken and nothing may be lost: the files themselves become one, and the volume is empty afterwards. */
  moveAside(id: string, name: string): Promise<void>;
  /** In the order of their names. Snapshots that are not complete are not listed. */
  listSnapshots(id: string): Promise<readonly string[]>;
  /** Does nothing when there is none. */
  dropSnapshot(id: string, name: string): Promise<void>;

  /** Whether the volume holds no file at all, apart from its snapshots. */
  isEmpty(id: string): Promise<boolean>;
  /** Whether the volume may hold something else than a snapshot of it does. What is only in memory is brought to the disk first. */
  isChanged(id: string, snapshot: string): Promise<boolean>;
  /** A cheap sign of changes: becomes another one with the first after `isChanged`, also with one that is only in memory yet. Undefined where that is unknown. */
  changeMark(id: string): Promise<string | undefined>;
  /** How much was ever written to the disk of the volume since it was attached. Undefined where it is not counted. */
  writtenBytes(id: string): Promise<number | undefined>;

  /** The stream of a snapshot: all of it, or the difference to `parent`. Destroy the stream to give up. */
  send(id: string, snapshot: string, parent?: string): Promise<OutgoingSnapshot>;

  /**
   * Turns a stream into a snapshot. Until all of it is here, well-formed, harmless and as the checksum says, nothing of it
   * is visible; of a stream that is refused nothing stays. Does nothing, and consumes nothing, when a snapshot of this name is there.
   */
  receive(id: string, stream: Readable, incoming: IncomingSnapshot): Promise<void>;

  /** The volume becomes what the snapshot holds. What it held before is kept as the snapshot `keepAs`, if one is named. */
  promote(id: string, snapshot: string, keepAs?: string): Promise<void>;

  /**
   * Removes the volume with its snapshots, which may be kept for a time (`removed`), with what is recorded of it here. Does nothing when there is
   * none; refused while the disk that may hold it is not mounted.
   */
  remove(id: string, about?: RemovedAbout): Promise<void>;

  /** What was removed and is kept. Left out by a driver that keeps nothing. */
  readonly removed?: RemovedBytes;

  /** All volumes that exist, also those that were not asked for. Changes nothing. */
  list(): Promise<readonly LocalVolume[]>;
}

/** Why a volume is not as it should be. `refused` asks for another request; the rest may pass by itself. */
export type VolumeFaultCause = 'refused' | 'not_found' | 'no_space' | 'bad_stream' | 'failed';

/** A driver could not do what it was asked for. The message has the cause, then the remedy. */
export class VolumeFault extends Fault {
  readonly why: VolumeFaultCause;

  constructor(why: VolumeFaultCause, message: string, options?: ErrorOptions) {
    super(message, options);
    this.why = why;
  }

  get retriable(): boolean {
    return this.why === 'failed' || this.why === 'no_space';
  }
}
