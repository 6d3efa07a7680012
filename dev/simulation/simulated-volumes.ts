import { type VolumeDriver, VolumeFault } from '../../pkg/agent/volumes/index.js';
import type { SimProcess } from './sim-process.js';

/** What a volume holds: so many records, numbered from 1. */
export interface HeldRecords {
  sizeBytes: number;
  records: number;
}

const ROOT = '/volumes/';

/** The disk of a machine that has its volumes. It outlives agents, and may be away: then the folder that it is mounted on shows. */
export class VolumeDisk {
  readonly #disk: Map<string, HeldRecords>;
  readonly #folder = new Map<string, HeldRecords>();
  /** The ids of what was removed, in order. */
  readonly removed: string[] = [];
  /** What was to be removed while the disk was away: no driver can tell that from what is gone already. */
  readonly left = new Set<string>();
  #isAway = false;
  /** How often something was made or removed. */
  changes = 0;

  constructor(held: ReadonlyMap<string, HeldRecords> = new Map()) {
    this.#disk = new Map([...held].map(([id, records]) => [id, { ...records }]));
  }

  /** What an agent finds now, by the id of the volume. */
  get held(): ReadonlyMap<string, HeldRecords> {
    return this.#present;
  }

  /** The machine comes up without the disk. */
  unmount(): void {
    this.#isAway = true;
  }

  /** Somebody mounts it again, and moves over what was made meanwhile. */
  mount(): void {
    this.#isAway = false;
    for (const [id, made] of this.#folder) if (!this.#disk.get(id)?.records) this.#disk.set(id, made);
    this.#folder.clear();
  }

  /** What is found at a path that was answered for a mount. */
  findMounted(path: string): { readonly id: string; readonly held: HeldRecords | undefined } {
    const [id = ''] = path.slice(ROOT.length).split('/');
    return { id, held: this.held.get(id) };
  }

  make(id: string, sizeBytes: number): void {
    if (this.held.has(id)) return;
    this.changes++;
    this.#present.set(id, { sizeBytes, records: 0 });
  }

  remove(id: string): void {
    if (this.#isAway && this.#disk.has(id)) this.left.add(id);
    if (!this.#present.delete(id)) return;
    this.changes++;
    this.removed.push(id);
  }

  get #present(): Map<string, HeldRecords> {
    return this.#isAway ? this.#folder : this.#disk;
  }
}

/** How many steps of a message an access to a disk takes. */
const ACCESS = 5;

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

/** The volumes of a machine as one run of its agent reaches them. Snapshots and what is made of them are not simulated. */
export function createSimulatedVolumes(life: SimProcess, disk: VolumeDisk): VolumeDriver {
  const turns = new Map<string, Promise<unknown>>();
  const inTurn = <T>(label: string, id: string, effect: () => T): Promise<T> => {
    const turn = (turns.get(id) ?? Promise.resolve()).then(() => access(life, `${label} volume`, effect));
    turns.set(
      id,
      turn.catch(() => undefined),
    );
    return turn;
  };
  const find = (id: string): HeldRecords => {
    const held = disk.held.get(id);
    if (!held) throw new VolumeFault('not_found', 'the bytes of the volume are not here; mount the disk that has them');
    return held;
  };
  const driver: Partial<VolumeDriver> = {
    name: 'directory',
    describe: () => ({ enforcesSize: false, snapshotsOnline: false, minSizeBytes: 0, shrinkFloorBytes: 0, limits: [] }),
    recover: () => Promise.resolve(),
    materialise: ({ id, sizeBytes, isMade }) =>
      inTurn('make', id, () => {
        if (!isMade) disk.make(id, sizeBytes);
        return { id, sizeBytes: find(id).sizeBytes };
      }),
    mountPoint: (id, subPath = '') =>
      inTurn('mount', id, () => {
        find(id);
        return `${ROOT}${id}${subPath && `/${subPath}`}`;
      }),
    usage: id =>
      inTurn('measure', id, () => {
        const { records, sizeBytes } = find(id);
        return { usedBytes: records, sizeBytes, measuredAt: life.clock.now() };
      }),
    resize: (id, sizeBytes) =>
      inTurn('resize', id, () => {
        find(id).sizeBytes = sizeBytes;
        return { id, sizeBytes };
      }),
    remove: id => inTurn('remove', id, () => disk.remove(id)),
    list: () => Promise.resolve([...disk.held].map(([id, { sizeBytes }]) => ({ id, sizeBytes }))),
  };
  return driver as VolumeDriver;
}
