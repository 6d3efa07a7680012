import { statfs } from 'node:fs/promises';

import { type Clock, sleep, untilAborted } from '../../clock/index.js';
import type { Disk } from '../disk.js';
import { DiskMark } from './disk-mark.js';
import type { VolumeDriver } from './driver.js';
import { countRoom } from './volume-checks.js';

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

/** What the disk of the volumes has for volumes now, those that are there included. `usedBytes`: what is in them. */
export async function measureRoom(env: RoomEnv, usedBytes = 0): Promise<number> {
  const { driver, root, stateDir, state, reserveBytes } = env;
  if (await new DiskMark(root, state).isAway()) return NONE;
  const volumes = await driver.list();
  const { bavail, bsize } = await statfs(root).catch(() => statfs(stateDir));
  return countRoom({ freeBytes: bavail * bsize, reserveBytes, usedBytes }, driver.describe(), volumes);
}

/** Follows what a disk has for volumes, beside everything else: a disk that hangs holds up nothing. */
export class VolumeRoom {
  readonly #clock: Clock;
  readonly #measure: (usedBytes: number) => Promise<number>;
  #told: number;
  #seen: number;

  constructor(clock: Clock, first: number, measure: (usedBytes: number) => Promise<number>) {
    this.#clock = clock;
    this.#measure = measure;
    this.#told = first;
    this.#seen = first;
  }

  /** What is told, which is not changed by little. */
  get bytes(): number {
    return this.#told;
  }

  /** Looks again and again until aborted, also while a disk hangs. */
  async run(countUsed: () => number, signal: AbortSignal): Promise<void> {
    await Promise.race([this.#follow(countUsed, signal), untilAborted(signal)]);
  }

  async #follow(countUsed: () => number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look(countUsed()).catch(() => undefined); // a disk that fails tells nothing new
      await sleep(this.#clock, LOOK_MS, signal);
    }
  }

  /** More room counts only when it is seen twice: a volume that is just being made is listed before its space is taken. */
  async look(usedBytes: number): Promise<void> {
    const seen = await this.#measure(usedBytes);
    const sure = Math.min(seen, this.#seen);
    this.#seen = seen;
    if (Math.abs(sure - this.#told) >= Math.max(NEWS_BYTES, this.#told / 50)) this.#told = sure;
  }
}
