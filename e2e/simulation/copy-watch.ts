import { keys, ranges } from '../../crds/keys/index.js';
import { isMadeVolume, type StoredVolume, type VolumeReport, type VolumeStatus } from '../../crds/volume/index.js';
import { hasAll, type HeldVolume, isSameLog, type RecordLog } from '../../dev/simulation/index.js';
import type { ReplicationRecord } from '../../pkg/agent/replication/record.js';
import { value } from '../../pkg/store/index.js';
import type { SimCluster } from './cluster.js';
import type { Machine } from './machine.js';
import type { History, Invariant } from './history.js';
import { findEnrolled } from './volume-invariants.js';

/** What was written to a volume and is still to be found where it is served, in the epoch that it was last served in. */
interface ServedLine {
  readonly epoch: number;
  readonly log: RecordLog;
}

/** A volume as a container has it. */
interface MountedVolume {
  readonly id: string;
  readonly readOnly: boolean;
}

/** Physics: a report may be under way for so long: what was done to the disk meanwhile it does not know of. */
const REPORTED_MS = 20_000;

/** What has become of the copies of replicated volumes, as the disks and the state folders of the machines show it. */
export class CopyWatch {
  readonly #cluster: SimCluster;
  readonly #history: () => History;
  /** The tenant of each replicated volume that ever was. */
  readonly #copied = new Map<string, string>();
  /** When each record was written. */
  readonly #times = new Map<number, number>();
  readonly #lines = new Map<string, ServedLine>();
  /** What the copy held which was promoted since a volume was last served: the least, if there were several. */
  readonly #promised = new Map<string, RecordLog>();
  /** Which machine was the primary of a volume in a term. */
  readonly #primaries = new Map<string, string>();
  readonly #dropped = new Map<Machine, number>();
  readonly #disks = new Map<Machine, { readonly turns: number; readonly at: number }>();

  constructor(cluster: SimCluster, history: () => History) {
    this.#cluster = cluster;
    this.#history = history;
  }

  readonly note: Invariant = (changes, history) => {
    for (const { key, before, entry } of changes) {
      if (!entry) continue;
      if (key.startsWith(ranges.volumes)) {
        const { id, class: kind, metadata } = value<StoredVolume>(entry);
        if (kind === 'replicated') this.#copied.set(id, metadata.tenant);
      }
      if (key.startsWith(ranges.volumeReports)) this.#lookAtReport(value<VolumeReport>(entry), history);
      if (key.startsWith(ranges.volumeStatuses) && before) {
        const [was, is] = [value<VolumeStatus>(before), value<VolumeStatus>(entry)];
        if ((is.epoch ?? 0) > (was.epoch ?? 0)) this.#notePromotion(is, is.epoch === was.finalFor, history);
      }
    }
  };

  /** To how many replicated volumes something was written. */
  get writtenVolumes(): number {
    return this.#lines.size;
  }

  isCopied(id: string): boolean {
    return this.#copied.has(id);
  }

  /**
   * What was served in epochs that the restored store does not know of is lost to those who mount the volume, by the nature of a restore: it
   * stays on the disks that have it.
   */
  noteRestore(): void {
    this.#promised.clear();
  }

  /** How many records are found where a volume is served. */
  countServed(id: string): number {
    return this.#lines.get(id)?.log.length ?? 0;
  }

  /** A container finds what was served before, all of it or, after a promotion, all that the copy was said to hold. */
  use(machine: Machine, container: string, held: HeldVolume, { id, readOnly }: MountedVolume): void {
    const epoch = this.#findServed(machine, id);
    const line = this.#lines.get(id);
    if (epoch !== undefined && line) {
      const due = line.epoch === epoch ? line.log : (this.#promised.get(id) ?? []);
      const isThere = line.epoch === epoch ? isSameLog(held.log, due) : hasAll(held.log, due);
      if (!isThere)
        throw new Error(`${container} finds ${held.records} of ${due.length} records of ${id} on ${machine.name}`);
    }
    if (!readOnly) {
      const record = this.#times.size + 1;
      this.#times.set(record, this.#cluster.world.clock.now());
      held.write(record);
    }
    if (epoch === undefined) return;
    if (line?.epoch !== epoch) this.#promised.delete(id);
    this.#lines.set(id, { epoch, log: held.log });
  }

  /** To be called now and then: looks at what agents have recorded and dropped. */
  look(isOrdered: (id: string) => boolean): void {
    const { machines, world } = this.#cluster;
    for (const machine of machines) {
      const { turns } = machine.disk;
      if (this.#disks.get(machine)?.turns !== turns) this.#disks.set(machine, { turns, at: world.time });
      for (const id of this.#copied.keys()) this.#lookAtRecord(machine, id);
      const { dropped } = machine.disk;
      for (const { id, log } of dropped.slice(this.#dropped.get(machine) ?? 0)) {
        const isKept = machines.some(({ disk }) => disk.listLogs(id).some(each => hasAll(each, log)));
        if (this.#copied.has(id) && !isOrdered(id) && !isKept)
          throw new Error(
            `${machine.name} has dropped the last of ${log.length} records of ${id}, which nobody else has`,
          );
      }
      this.#dropped.set(machine, dropped.length);
    }
  }

  /** Whether a machine has every record of a volume that is older than so many milliseconds. */
  hasServed({ disk }: Machine, id: string, olderThanMs: number): boolean {
    const until = this.#cluster.world.clock.now() - olderThanMs;
    const { epoch, log = [] } = this.#lines.get(id) ?? {};
    // After a promotion nobody may have used it yet.
    const kept = epoch === this.#statusOf(id)?.epoch ? log : (this.#promised.get(id) ?? []);
    const due = this.#listUntil(kept, until);
    return disk.held.get(id)?.logs.some(log => hasAll(log, due)) ?? false;
  }

  /** Of a move nothing may be missing. */
  #notePromotion({ id, primaryNode }: VolumeStatus, isMove: boolean, history: History): void {
    const held = isMove ? this.#lines.get(id)?.log : this.#findSent(this.#findMachine(primaryNode, history), id);
    const before = this.#promised.get(id);
    if (held && !(before && before.length < held.length)) this.#promised.set(id, held);
  }

  /**
   * What the snapshot held that a copy is said to be of, when it was taken on the machine of its primary. Not by the moments that snapshots
   * show: each is of the clock of one machine.
   */
  #findSent(machine: Machine | undefined, id: string): RecordLog | undefined {
    const name = machine && readRecord(machine, id)?.synced?.snapshot;
    return this.#cluster.machines.map(({ disk }) => disk.taken.get(`${id} ${name}`)).find(log => log !== undefined);
  }

  #findMachine(nodeId: string | undefined, history: History): Machine | undefined {
    const { name } = history.node(nodeId ?? '') ?? {};
    return this.#cluster.machines.find(each => each.name === name);
  }

  /** What an agent says that its copy shows is there. */
  #lookAtReport({ id, nodeId, state, role, syncedAt }: VolumeReport, history: History): void {
    if (state !== 'ready' || role !== 'replica' || syncedAt === undefined) return;
    const machine = this.#findMachine(nodeId, history);
    const due = this.#findSent(machine, id);
    if (!machine || !due) return;
    const { at = 0, turns } = this.#disks.get(machine) ?? {};
    if (turns !== machine.disk.turns || this.#cluster.world.time - at < REPORTED_MS) return;
    const isThere = machine.disk.listLogs(id).some(log => hasAll(log, due));
    if (!isThere)
      throw new Error(`${machine.name} says that its copy of ${id} shows ${syncedAt}, and lacks records of before`);
  }

  /** No two machines have ever acted as the primary of one term. */
  #lookAtRecord(machine: Machine, id: string): void {
    const { epoch, generationId, role } = readRecord(machine, id) ?? {};
    if (role !== 'primary' || epoch === undefined) return;
    // A volume that its first node could not make is made on another one, in the same epoch.
    if (epoch === 1 && !(isMadeVolume(this.#statusOf(id)) && this.#findServed(machine, id) === epoch)) return;
    const key = `${id} ${epoch} ${generationId}`;
    const known = this.#primaries.get(key) ?? machine.name;
    if (known !== machine.name)
      throw new Error(`${known} and ${machine.name} are the primary of ${id} in epoch ${epoch}`);
    this.#primaries.set(key, machine.name);
  }

  /** The epoch in which a machine serves a volume; undefined when it is not the one that serves it. */
  #findServed(machine: Machine, id: string): number | undefined {
    const history = this.#history();
    const status = this.#statusOf(id);
    if (findEnrolled(status?.primaryNode, history)?.name !== machine.name) return undefined;
    const { epoch, role } = readRecord(machine, id) ?? {};
    return role === 'primary' && epoch === status?.epoch ? epoch : undefined;
  }

  #statusOf(id: string): VolumeStatus | undefined {
    return this.#history().get<VolumeStatus>(keys.volumeStatus(this.#copied.get(id) ?? '', id));
  }

  #listUntil(log: RecordLog, until: number): RecordLog {
    const end = log.findLastIndex(record => (this.#times.get(record) ?? 0) < until);
    return log.slice(0, end + 1);
  }
}

/** What an agent has recorded of its part. */
function readRecord({ files }: Machine, id: string): Partial<ReplicationRecord> | undefined {
  const text = files.get(`replication-${id}.json`);
  return text === undefined ? undefined : (JSON.parse(text) as Partial<ReplicationRecord>);
}
