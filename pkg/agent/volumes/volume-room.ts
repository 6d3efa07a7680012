import { statfs } from 'node:fs/promises';

import { type Clock, sleep, untilAborted } from '../../clock/index.js';
import { type Disk, readStateFile } from '../disk.js';
import { DiskMark } from './disk-mark.js';
import type { VolumeDriver } from './driver.js';
import { countRoom } from './volume-checks.js';

const FILE = 'volume-use.json';
const LOOK_MS = 30_000;
/** Each change that is reported is a write: this much, and a fiftieth of what was reported before. */
const NEWS_BYTES = 256 * 2 ** 20;
/** Not 0, which would mean that it is not known. */
const NONE = 1;

export interface RoomEnv {
  readonly driver: Pick<VolumeDriver, 'describe' | 'list' | 'removed'>;
  readonly root: string;
  /** Where the agent keeps its own files: on the same disk while nothing else is mounted for volumes. */
  readonly stateDir: string;
  readonly state: Disk;
  readonly reserveBytes: number;
}

/** What the disk of the volumes has for volumes now, those that are there included, and what was removed, since it makes way. `usedBytes`: what is in them. */
export async function measureRoom(env: RoomEnv, usedBytes = 0): Promise<number> {
  const { driver, root, stateDir, state, reserveBytes } = env;
  if (await new DiskMark(root, state).isAway()) return NONE;
  const volumes = await driver.list();
  const removedBytes = (await driver.removed?.countBytes()) ?? 0; // after the list: one that goes meanwhile counts twice, and not never
  const { bavail, bsize } = await statfs(root).catch(() => statfs(stateDir));
  return countRoom({ freeBytes: bavail * bsize + removedBytes, reserveBytes, usedBytes }, driver.describe(), volumes);
}

type Measure = (usedBytes?: number) => Promise<number>;

/** What volumes hold, as the last agent measured it, and where it is kept for the next one. */
interface KeptUse {
  readonly usedBytes: number;
  readonly keep: (usedBytes: number) => Promise<void>;
}

/** Follows what a disk has for volumes, beside everything else: a disk that hangs holds up nothing. */
export class VolumeRoom {
  readonly #clock: Clock;
  readonly #measure: Measure;
  readonly #keep: KeptUse['keep'] | undefined;
  #reported: number;
  #seen: number;
  #used: number;
  #kept: number;

  constructor(clock: Clock, first: number, measure: Measure, { usedBytes = 0, keep }: Partial<KeptUse> = {}) {
    this.#clock = clock;
    this.#measure = measure;
    this.#keep = keep;
    this.#reported = first;
    this.#seen = first;
    this.#used = usedBytes;
    this.#kept = usedBytes;
  }

  /** Where a size takes nothing beforehand, what volumes hold counts, and it is measured only later. */
  static async open(clock: Clock, { driver, state }: Pick<RoomEnv, 'driver' | 'state'>, measure: Measure) {
    if (driver.describe().enforcesSize) return new VolumeRoom(clock, await measure(), measure);
    const isSound = ({ usedBytes }: Partial<KeptUse>) => Number.isSafeInteger(usedBytes) && usedBytes! >= 0;
    const { usedBytes = 0 } = (await readStateFile<Pick<KeptUse, 'usedBytes'>>(state, FILE, isSound)) ?? {};
    const keep = (used: number) => state.write(FILE, JSON.stringify({ usedBytes: used }));
    return new VolumeRoom(clock, await measure(usedBytes), measure, { usedBytes, keep });
  }

  /** What is reported, which small changes do not move. */
  get bytes(): number {
    return this.#reported;
  }

  /** Looks again and again until aborted, also while a disk hangs. `countUsed` answers undefined until all is measured. */
  async run(countUsed: () => number | undefined, signal: AbortSignal): Promise<void> {
    await Promise.race([this.#follow(countUsed, signal), untilAborted(signal)]);
  }

  async #follow(countUsed: () => number | undefined, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look(countUsed()).catch(() => undefined); // a disk that fails has nothing new
      await sleep(this.#clock, LOOK_MS, signal);
    }
  }

  /**
   * More room counts only when it is seen twice: a volume that is just being made is listed before its space is taken. While not all
   * volumes are measured, they are taken to hold what they held before.
   */
  async look(usedBytes = this.#used): Promise<void> {
    this.#used = usedBytes;
    const seen = await this.#measure(usedBytes);
    const sure = Math.min(seen, this.#seen);
    this.#seen = seen;
    if (isNews(sure, this.#reported)) this.#reported = sure;
    if (!this.#keep || !isNews(usedBytes, this.#kept)) return;
    await this.#keep(usedBytes);
    this.#kept = usedBytes;
  }
}

function isNews(bytes: number, reported: number): boolean {
  return Math.abs(bytes - reported) >= Math.max(NEWS_BYTES, reported / 50);
}
