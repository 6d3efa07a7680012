import { statfs } from 'node:fs/promises';

import { type Clock, sleep, untilAborted } from '../../clock/index.js';
import { type Disk, readStateFile } from '../disk.js';
import { DiskMark } from './disk-mark.js';
import type { VolumeDriver } from './driver.js';
import { countRoom } from './volume-checks.js';

const FILE = 'volume-room.json';
const LOOK_MS = 30_000;
/** Each change that is told is a write: this much, and a fiftieth of what was told before. */
const NEWS_BYTES = 256 * 2 ** 20;
/** Not 0, which would mean that it is not known. */
const NONE = 1;

export interface RoomEnv {
  readonly driver: Pick<VolumeDriver, 'describe' | 'list'>;
  readonly root: string;
  /** Where the agent keeps its own files: on the same disk while nothing else is mounted for volumes. */
  readonly stateDir: string;
  readonly state: Disk;
  readonly reserveBytes: number;
}

/** What is kept across restarts. */
interface KeptRoom {
  readonly bytes: number;
}

/** What the disk of the volumes has for volumes now, those that are there included. `usedBytes`: what is in them. */
export async function measureRoom(env: RoomEnv, usedBytes = 0): Promise<number> {
  const { driver, root, stateDir, state, reserveBytes } = env;
  if (await new DiskMark(root, state).isAway()) return NONE;
  const volumes = await driver.list();
  const { bavail, bsize } = await statfs(root).catch(() => statfs(stateDir));
  return countRoom({ freeBytes: bavail * bsize, reserveBytes, usedBytes }, driver.describe(), volumes);
}

type Measure = (usedBytes?: number) => Promise<number>;

/** Follows what a disk has for volumes, beside everything else: a disk that hangs holds up nothing. */
export class VolumeRoom {
  readonly #clock: Clock;
  readonly #measure: Measure;
  /** Keeps what is told for the next agent; left out where the room is known without what volumes hold. */
  readonly #keep: ((bytes: number) => Promise<void>) | undefined;
  #told: number;
  #seen: number;

  constructor(clock: Clock, first: number, measure: Measure, keep?: (bytes: number) => Promise<void>) {
    this.#clock = clock;
    this.#measure = measure;
    this.#keep = keep;
    this.#told = first;
    this.#seen = first;
  }

  /** Where a size takes nothing beforehand, the last agent knew what volumes hold, and this one has not measured it yet. */
  static async open(clock: Clock, { driver, state }: Pick<RoomEnv, 'driver' | 'state'>, measure: Measure) {
    const found = await measure();
    if (driver.describe().enforcesSize) return new VolumeRoom(clock, found, measure);
    const isSound = ({ bytes }: Partial<KeptRoom>) => Number.isSafeInteger(bytes);
    const { bytes = 0 } = (await readStateFile<KeptRoom>(state, FILE, isSound)) ?? {};
    const first = found === NONE ? NONE : Math.max(found, bytes);
    return new VolumeRoom(clock, first, measure, told => state.write(FILE, JSON.stringify({ bytes: told })));
  }

  /** What is told, which is not changed by little. */
  get bytes(): number {
    return this.#told;
  }

  /** Looks again and again until aborted, also while a disk hangs. `countUsed` answers undefined until all is measured. */
  async run(countUsed: () => number | undefined, signal: AbortSignal): Promise<void> {
    await Promise.race([this.#follow(countUsed, signal), untilAborted(signal)]);
  }

  async #follow(countUsed: () => number | undefined, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look(countUsed()).catch(() => undefined); // a disk that fails tells nothing new
      await sleep(this.#clock, LOOK_MS, signal);
    }
  }

  /** More room counts only when it is seen twice: a volume that is just being made is listed before its space is taken. */
  async look(usedBytes: number | undefined): Promise<void> {
    if (usedBytes === undefined && this.#keep) return;
    const seen = await this.#measure(usedBytes);
    const sure = Math.min(seen, this.#seen);
    this.#seen = seen;
    if (Math.abs(sure - this.#told) < Math.max(NEWS_BYTES, this.#told / 50)) return;
    this.#told = sure;
    await this.#keep?.(sure);
  }
}
