import {
  type AssignedReplication,
  type AssignedVolume,
  type FinalSnapshot,
  isSameTerm,
  type VolumePeer,
} from '../../../crds/volume/index.js';
import type { Clock, Random } from '../../clock/index.js';
import { failpoint } from '../../failpoint/index.js';
import type { Logger } from '../../log/index.js';
import type { VolumeDriver } from '../volumes/index.js';
import type { SerialTasks } from '../volumes/serial-tasks.js';
import { listKept } from './copies.js';
import { type BegunTransfer, formatSyncName, ORIGINS_MAX, type PeerMessages, readSyncName } from './messages.js';
import { PeerFault } from './peers.js';
import { dropSpent, listForCopies, type ReplicationRecord, type ReplicationRecords } from './record.js';
import type { ChosenSnapshot, SyncSnapshot } from './send-snapshot.js';

/** From here on a node that is away loses its claim on old bytes: the workload needs the space. */
const TIGHT = 0.85;

export interface SyncSnapshotsParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly driver: VolumeDriver;
  readonly records: ReplicationRecords;
  /** By volume: of what reads and writes its record. */
  readonly turns: SerialTasks;
  readonly find: (id: string) => AssignedVolume | undefined;
  /** The container, in words, that may write to a volume at this moment. */
  readonly findWriter?: (id: string) => Promise<string | undefined>;
}

/** What is remembered of a volume between two rounds; lost with the process. */
interface Memory {
  /** When each snapshot was taken, and what had been written to the disk then. */
  readonly taken: Map<string, { readonly at: number; readonly written: number | undefined }>;
  /** What is being read for each node. */
  readonly held: Map<string, readonly string[]>;
  /** The last snapshot before the move that is assigned: what an earlier one had counts only when it was looked at again. */
  final?: FinalSnapshot | undefined;
  /** What was found when the volume had this mark: until it has another, it is not looked for again. */
  found?: { readonly mark: string; readonly newest: string; readonly isChanged: false } | undefined;
}

/** The primary of a volume, at this moment. */
interface Primary {
  readonly replication: AssignedReplication;
  readonly record: ReplicationRecord;
}

/** The snapshots of a primary: taken when something has changed, kept while a copy needs them. */
export class SyncSnapshots {
  readonly #parts: SyncSnapshotsParts;
  readonly #memories = new Map<string, Memory>();
  readonly #run: string;

  constructor(parts: SyncSnapshotsParts) {
    this.#parts = parts;
    this.#run = parts.random.bytes(4).toString('hex');
  }

  forget(id: string): void {
    this.#memories.delete(id);
  }

  /** The part of this node as it was assigned and taken; undefined when it is not the primary, or not yet. */
  async findPrimary(id: string): Promise<Primary | undefined> {
    const volume = this.#parts.find(id);
    const record = await this.#parts.records.read(id);
    const { replication } = volume ?? {};
    if (volume?.isDeleted || replication?.role !== 'primary' || record?.role !== 'primary') return undefined;
    return isSameTerm(record, replication) ? { replication, record } : undefined;
  }

  /** The newest snapshot whose moment is known, how old it is, and whether the volume has changed since. */
  async look(id: string, record: ReplicationRecord) {
    const { clock } = this.#parts;
    const { newest, isChanged } = await this.#find(id, record);
    const taken = newest === undefined ? undefined : this.#remember(id).taken.get(newest);
    return { newest, isChanged, newestAgeMs: taken && clock.monotonic() - taken.at };
  }

  /** Whether a volume is as it was when it was found not to have changed since its newest snapshot, which is this one. */
  async isUnchanged(id: string, newest: string): Promise<boolean> {
    const { found } = this.#memories.get(id) ?? {};
    return found?.newest === newest && (await this.#parts.driver.changeMark(id)) === found.mark;
  }

  async #find(id: string, record: ReplicationRecord) {
    const { driver } = this.#parts;
    const memory = this.#remember(id);
    const mark = await driver.changeMark(id); // first: what is changed while it is looked for gives another
    if (mark !== undefined && memory.found?.mark === mark) return memory.found;
    const newest = (await this.#list(id, record)).findLast(name => record.times?.[name] !== undefined);
    const isChanged = newest !== undefined && (await driver.isChanged(id, newest));
    const isAtRest = newest !== undefined && !isChanged && mark !== undefined;
    memory.found = isAtRest ? { mark, newest, isChanged: false } : undefined;
    return { newest, isChanged };
  }

  /**
   * Takes a snapshot, or answers the newest, or the one of which a part has arrived, with what led to it. In turn, so that copies that need
   * one at the same time share it.
   */
  choose(id: string, isFresh: boolean, held: PeerMessages['held']): Promise<ChosenSnapshot> {
    return this.#parts.turns.run(id, async () => {
      const primary = await this.findPrimary(id);
      if (!primary)
        throw new PeerFault('this node is not the primary of the volume any more; the new one sends copies');
      const { record, replication } = primary;
      const { times = {}, final, origins } = record;
      const own = await this.#list(id, record);
      const newest = own.findLast(name => times[name] !== undefined);
      const at = newest === undefined ? undefined : this.#remember(id).taken.get(newest)?.at;
      const isShared = at !== undefined && this.#parts.clock.monotonic() - at < replication.intervalSeconds * 500;
      const finalFor = final?.snapshot === newest ? final?.epoch : undefined;
      const begun = held.begun && findBegun(held.begun, times, [own, held.snapshots]);
      // One that is to move waits for its last snapshot and for no other.
      if (begun && (replication.finalFor === undefined || begun.snapshot === newest))
        return { name: begun.snapshot, at: begun.at, ...(begun.snapshot === newest && { finalFor }), begun, origins };
      if (newest !== undefined && (!isFresh || isShared))
        return { name: newest, at: times[newest]!, finalFor, origins };
      return this.#take(id, own, record);
    });
  }

  /**
   * Has a last snapshot that everything is in, which is taken when nothing writes; answers it, or undefined while something may. Nothing
   * that writes is started meanwhile; what has changed all the same makes another one the last.
   */
  finish(id: string): Promise<FinalSnapshot | undefined> {
    const { find, findWriter, turns } = this.#parts;
    return turns.run(id, async () => {
      const primary = await this.findPrimary(id);
      const { finalFor } = primary?.replication ?? {};
      if (!primary || finalFor === undefined) return undefined;
      const writer = await findWriter?.(id);
      const final = writer === undefined ? await this.#findLast(id, primary, finalFor) : undefined;
      // If its assignment has changed meanwhile, it may have been written to since.
      const isCurrent = find(id)?.replication === primary.replication;
      this.#remember(id).final = isCurrent ? final : undefined;
      return this.findFinal(id);
    });
  }

  async #findLast(id: string, { record }: Primary, epoch: number): Promise<FinalSnapshot> {
    const { driver, records } = this.#parts;
    const own = await this.#list(id, record);
    const { final } = record;
    const isLast = final?.epoch === epoch && own.at(-1) === final.snapshot;
    if (isLast && !(await driver.isChanged(id, final.snapshot))) return final;
    const { name: snapshot, at } = await this.#take(id, own, record);
    failpoint('volume.final_taken');
    const last = { epoch, snapshot, at };
    await records.write(id, { ...((await records.read(id)) ?? record), final: last });
    return last;
  }

  /** The last snapshot before the move that is assigned, once it is there. */
  findFinal(id: string): FinalSnapshot | undefined {
    return this.#remember(id).final;
  }

  /** Its assignment has changed: what is the last snapshot is looked for again. */
  reopen(id: string): void {
    this.#remember(id).final = undefined;
  }

  async #take(id: string, own: readonly string[], record: ReplicationRecord): Promise<ChosenSnapshot> {
    const { clock, driver, records } = this.#parts;
    const memory = this.#remember(id);
    const isOfTerm = (name: string) => isSameTerm(readSyncName(name), record);
    const used = [...own, ...Object.keys(record.times ?? {})].filter(isOfTerm).map(name => readSyncName(name).sequence);
    const name = formatSyncName({ ...record, run: this.#run }, Math.max(0, ...used) + 1);
    // What an earlier run has taken led to it as far as that is here: of a machine that was set back, copies may have more.
    const earlier = own.findLast(each => isOfTerm(each) && readSyncName(each).run !== this.#run);
    const origins = [...new Set([...(record.origins ?? []), ...(earlier ? [earlier] : [])])].slice(-ORIGINS_MAX);
    // Copies are compared by their moments: a clock that was set back must not make a later one look staler.
    const latest = Math.max(...Object.values(record.times ?? {}).map(time => Date.parse(time)));
    const at = new Date(Math.max(clock.now(), latest + 1)).toISOString();
    const written = await driver.writtenBytes(id);
    memory.found = undefined;
    await driver.snapshot(id, name);
    failpoint('volume.snapshot_taken');
    await records.write(id, { ...record, times: { ...record.times, [name]: at }, origins });
    memory.taken.set(name, { at: clock.monotonic(), written });
    return { name, at, origins };
  }

  /** Keeps what is read for a node until `release`. */
  hold(id: string, nodeId: string, names: readonly string[]): void {
    this.#remember(id).held.set(nodeId, names);
  }

  release(id: string, nodeId: string): void {
    this.#remember(id).held.delete(nodeId);
  }

  /** Records what a node has, and lets go of snapshots that no copy needs any more. */
  noteSynced(id: string, nodeId: string, { name }: SyncSnapshot): Promise<void> {
    return this.#parts.turns.run(id, async () => {
      const { record, replication } = (await this.findPrimary(id)) ?? {};
      const last = record?.common?.[nodeId];
      if (!record || (last?.snapshot === name && last.epoch === replication?.epoch)) return;
      const common = { ...record.common, [nodeId]: { snapshot: name, epoch: record.epoch } };
      await this.#keep(id, { ...record, common }, replication?.peers ?? []);
    });
  }

  /** Lets go of what is known of nodes that have no copy any more. */
  letGo(id: string): Promise<void> {
    return this.#parts.turns.run(id, async () => {
      const { record, replication } = (await this.findPrimary(id)) ?? {};
      const named = new Set(replication?.peers.map(({ nodeId }) => nodeId));
      const isKnown = Object.keys(record?.common ?? {}).every(nodeId => named.has(nodeId));
      if (record && !isKnown) await this.#keep(id, record, replication?.peers ?? []);
    });
  }

  /** A node that is away keeps its claim on old bytes only while there is room. */
  makeRoom(id: string, nodeId: string): Promise<void> {
    const { driver, log, turns } = this.#parts;
    return turns.run(id, async () => {
      const { record, replication } = (await this.findPrimary(id)) ?? {};
      const { held } = this.#remember(id);
      const isKept = held.has(nodeId) || record?.common?.[nodeId] !== undefined;
      if (!record || !isKept || !driver.describe().enforcesSize) return;
      const { usedBytes, sizeBytes } = await driver.usage(id);
      if (usedBytes < sizeBytes * TIGHT) return;
      log.warn('the volume is nearly full: a copy that is away will be sent whole', { volume: id, node: nodeId });
      held.delete(nodeId);
      const { [nodeId]: _given, ...common } = record.common ?? {};
      await this.#keep(id, { ...record, common }, replication?.peers.filter(peer => peer.nodeId !== nodeId) ?? []);
    });
  }

  async #keep(id: string, record: ReplicationRecord, peers: readonly VolumePeer[]): Promise<void> {
    const { driver, records } = this.#parts;
    const { taken, held } = this.#remember(id);
    const own = await this.#list(id, record);
    const { times = {}, common = {} } = record;
    const newest = own.findLast(name => times[name] !== undefined);
    const kept = listKept(record, { peers }, [newest, ...[...held.values()].flat()]);
    const named = new Set(peers.map(({ nodeId }) => nodeId));
    const pick = <T>(all: Readonly<Record<string, T>>, names: ReadonlySet<string>) =>
      Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
    await dropSpent(id, record, driver);
    await records.write(id, { ...record, times: pick(times, kept), common: pick(common, named) });
    for (const name of own) if (!kept.has(name)) await driver.dropSnapshot(id, name);
    for (const name of taken.keys()) if (!kept.has(name)) taken.delete(name);
  }

  /** What a snapshot, or the difference to a parent, may come to. */
  async estimate(id: string, parent: string | undefined): Promise<number | undefined> {
    return parent === undefined ? (await this.#parts.driver.usage(id)).usedBytes : this.countSince(id, parent);
  }

  /** What was written to the disk since a snapshot was taken. */
  async countSince(id: string, snapshot: string): Promise<number | undefined> {
    const { written } = this.#remember(id).taken.get(snapshot) ?? {};
    const now = written === undefined ? undefined : await this.#parts.driver.writtenBytes(id);
    return written === undefined || now === undefined ? undefined : Math.max(0, now - written);
  }

  async #list(id: string, record: ReplicationRecord): Promise<readonly string[]> {
    return listForCopies(await this.#parts.driver.listSnapshots(id), record);
  }

  #remember(id: string): Memory {
    const known = this.#memories.get(id);
    if (known) return known;
    const made: Memory = { taken: new Map(), held: new Map() };
    this.#memories.set(id, made);
    return made;
  }
}

/** A transfer that can go on: what it sends is still here, and is of the moment that it was. */
function findBegun(
  begun: BegunTransfer,
  times: Readonly<Record<string, string>>,
  [own, shared]: readonly [own: readonly string[], shared: readonly string[]],
): BegunTransfer | undefined {
  const { snapshot, at, parent } = begun;
  const isHere = own.includes(snapshot) && times[snapshot] === at;
  return isHere && (parent === undefined || (own.includes(parent) && shared.includes(parent))) ? begun : undefined;
}
