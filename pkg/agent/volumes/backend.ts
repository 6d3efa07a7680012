import type { Readable } from 'node:stream';

import type { DriverLimits, OutgoingSnapshot, VolumeDriverName } from './driver.js';

export interface ReceiveBounds {
  readonly parent: string | undefined;
  /** A stream that needs more than this is refused. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** May be called with each chunk that is not needed any more. */
  readonly giveBack?: ((chunk: Buffer) => void) | undefined;
}

export interface BackendStream extends Pick<OutgoingSnapshot, 'giveBack'> {
  readonly source: Readable;
  readonly ended: Promise<void>;
}

/**
 * What differs between drivers: the steps on one volume. `LocalVolumes` puts them in order, keeps them apart and records
 * sizes. Each step is called again after a crash and then completes what was begun; `folder` is the volume's own.
 */
export interface Backend {
  readonly name: VolumeDriverName;
  readonly limits: DriverLimits;

  /** After a start: gives back what volumes that are gone still hold of the machine. */
  recover(root: string): Promise<void>;

  /** Whether the volume was made here: a folder of it alone may be where its disk is not mounted. */
  isMade(folder: string): Promise<boolean>;

  /** How many bytes the volume has yet to take of the machine's disk in order to have a size; 0 when it takes none beforehand. */
  countMissing(folder: string, sizeBytes: number): Promise<number>;
  /** Takes them: all or none. */
  takeSpace(folder: string, sizeBytes: number): Promise<void>;

  /** Completes a promotion, brings the volume to its size, for which it has the space, and makes it usable. */
  settle(folder: string, sizeBytes: number): Promise<void>;

  /** The folder that holds the workload's files. Throws when the volume is not in use. */
  openRoot(folder: string): Promise<string>;

  /** What a folder below the root is mounted as, which was opened as `descriptor` of this process. */
  pin(folder: string, path: string, descriptor: number): Promise<string>;

  measure(folder: string): Promise<number>;

  takeSnapshot(folder: string, name: string): Promise<void>;
  /** The files themselves become a snapshot, at once, and the volume is empty afterwards. */
  moveAside(folder: string, name: string): Promise<void>;
  /** In the order of their names. */
  listSnapshots(folder: string): Promise<readonly string[]>;
  dropSnapshot(folder: string, name: string): Promise<void>;

  /** Whether the volume may hold something else than the snapshot does. */
  differs(folder: string, snapshot: string): Promise<boolean>;
  /** What was written to the volume's own disk, in bytes; undefined where it has none. */
  countWritten(folder: string): Promise<number | undefined>;
  /** Becomes another one when something on the volume is changed; undefined where that is unknown. */
  readChangeMark(folder: string): Promise<string | undefined>;

  /** What is sent is whole when the source has ended and `ended` resolves. Destroying the source gives up. */
  send(folder: string, snapshot: string, parent: string | undefined): BackendStream;

  /** Reads a stream to its end into a place of its own. Throws when anything about it is not in order. */
  receive(folder: string, chunks: AsyncIterable<Buffer>, bounds: ReceiveBounds): Promise<void>;
  /** What was received becomes a snapshot, at once. */
  accept(folder: string, name: string): Promise<void>;
  /** Removes what was received and not accepted. */
  discard(folder: string): Promise<void>;

  /** The volume becomes a writable copy of a snapshot. */
  promote(folder: string, snapshot: string): Promise<void>;

  /** Gives back what the volume holds of the machine, so that its folder can be removed. */
  release(folder: string): Promise<void>;
}
