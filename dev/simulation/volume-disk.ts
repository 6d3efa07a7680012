/** Records in the order in which they were written. Each is written once in a world: whoever has one has all before it, too. */
export type RecordLog = readonly number[];

/** Whether a log has everything that another one has. */
export function hasAll(log: RecordLog, other: RecordLog): boolean {
  return other.length === 0 || log[other.length - 1] === other.at(-1);
}

export const isSameLog = (one: RecordLog, other: RecordLog): boolean =>
  one.length === other.length && hasAll(one, other);

/** What a disk has of a volume. */
export class HeldVolume {
  sizeBytes: number;
  log: RecordLog;
  readonly snapshots: Map<string, RecordLog>;
  /** How often something was written. */
  written = 0;
  /** Nothing more can be written to it. */
  isFull = false;

  constructor(sizeBytes: number, log: RecordLog = [], snapshots: ReadonlyMap<string, RecordLog> = new Map()) {
    this.sizeBytes = sizeBytes;
    this.log = log;
    this.snapshots = new Map(snapshots);
  }

  get records(): number {
    return this.log.length;
  }

  get logs(): readonly RecordLog[] {
    return [this.log, ...this.snapshots.values()];
  }

  write(record: number): void {
    this.log = [...this.log, record];
    this.written++;
  }
}

/** Whether somebody keeps what a disk has of a volume, and not what was made while it was away. */
function isWorthMore(old: HeldVolume, made: HeldVolume): boolean {
  const isPromoted = made.records > 0 && made.snapshots.size > 0;
  const isBare = made.records === 0 && made.snapshots.size === 0;
  // A volume that nobody has written to has copies, too.
  return (isBare && old.snapshots.size > 0) || (!isPromoted && old.logs.some(log => log.length > 0));
}

const ROOT = '/volumes/';

/** The disk of a machine that has its volumes. It outlives agents, and may be away: then the folder that it is mounted on shows. */
export class VolumeDisk {
  readonly #disk: Map<string, HeldVolume>;
  readonly #folder = new Map<string, HeldVolume>();
  /** What people have put aside when they found a volume in both places. */
  readonly #attic: { readonly id: string; readonly log: RecordLog }[] = [];
  /** The ids of what was removed, in order. */
  readonly removed: string[] = [];
  /** What each snapshot held when it was taken here, by volume and name. */
  readonly taken = new Map<string, RecordLog>();
  /** What was dropped, removed or written over, in order. */
  readonly dropped: { readonly id: string; readonly log: RecordLog }[] = [];
  /** What was to be removed while the disk was away, and is still on it: no driver can tell that from what is gone already. */
  readonly left = new Set<string>();
  #isAway = false;
  /** There is no room for more volumes, nor for what arrives from others. */
  isFull = false;
  /** How often a volume was made or removed. */
  changes = 0;
  /** How often the disk went or came. */
  turns = 0;

  constructor(held: ReadonlyMap<string, HeldVolume> = new Map()) {
    const copy = ({ sizeBytes, log, snapshots }: HeldVolume) => new HeldVolume(sizeBytes, log, snapshots);
    this.#disk = new Map([...held].map(([id, volume]) => [id, copy(volume)]));
  }

  /** What an agent finds now, by the id of the volume. */
  get held(): ReadonlyMap<string, HeldVolume> {
    return this.#present;
  }

  /** The machine comes up without the disk. */
  unmount(): void {
    this.#isAway = true;
    this.turns++;
  }

  /** Somebody mounts it again, and moves over what was made meanwhile. */
  mount(): void {
    this.#isAway = false;
    this.turns++;
    for (const [id, made] of this.#folder) {
      const old = this.#disk.get(id);
      const isKept = old !== undefined && isWorthMore(old, made);
      for (const log of (isKept ? made : old)?.logs ?? []) this.#attic.push({ id, log });
      if (isKept) continue;
      this.#disk.set(id, made);
      this.left.delete(id);
    }
    this.#folder.clear();
  }

  /** The disk of a volume has died, and somebody has put an empty one in its place. */
  swap(id: string): void {
    this.turns++;
    this.left.delete(id);
    for (const place of [this.#disk, this.#folder]) place.delete(id);
    for (const aside of this.#attic.splice(0)) if (aside.id !== id) this.#attic.push(aside);
  }

  /** Everything that is anywhere on the machine of a volume, whether an agent finds it or not. */
  listLogs(id: string): readonly RecordLog[] {
    const volumes = [this.#disk.get(id), this.#folder.get(id)];
    const aside = this.#attic.filter(each => each.id === id).map(({ log }) => log);
    return [...volumes.flatMap(volume => volume?.logs ?? []), ...aside];
  }

  /** What is found at a path that was answered for a mount. */
  findMounted(path: string): { readonly id: string; readonly held: HeldVolume | undefined } {
    const [id = ''] = path.slice(ROOT.length).split('/');
    return { id, held: this.held.get(id) };
  }

  /** The path that a volume is mounted from. */
  toPath(id: string, subPath = ''): string {
    return `${ROOT}${id}${subPath && `/${subPath}`}`;
  }

  make(id: string, sizeBytes: number): void {
    if (this.held.has(id)) return;
    this.changes++;
    this.#present.set(id, new HeldVolume(sizeBytes));
  }

  remove(id: string): void {
    if (!this.#isAway) this.left.delete(id);
    else if (this.#disk.has(id)) this.left.add(id);
    for (const log of this.held.get(id)?.logs ?? []) this.dropped.push({ id, log });
    if (!this.#present.delete(id)) return;
    this.changes++;
    this.removed.push(id);
  }

  get #present(): Map<string, HeldVolume> {
    return this.#isAway ? this.#folder : this.#disk;
  }
}
