import { isDeepStrictEqual } from 'node:util';

import {
  type AssignedReplication,
  type AssignedVolume,
  type DivergentBytes,
  isSameTerm,
  type SeenVolume,
} from '../../../crds/volume/index.js';
import type { Clock, Random } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { Logger } from '../../log/index.js';
import type { Disk } from '../disk.js';
import { type VolumeDriver, VolumeFault } from '../volumes/index.js';
import { SerialTasks } from '../volumes/serial-tasks.js';
import type { Peers } from './peers.js';
import { PrimaryRounds } from './primary.js';
import { Receiver } from './receiver.js';
import { type ReplicationRecord, ReplicationRecords } from './record.js';
import { explainKept, takeRole } from './roles.js';

const STALL_MS = 30_000;
const STOP_GRACE_MS = 1_000;
const HELD =
  'is behind what another node has, since the control plane was restored from an old backup: restore a newer one';

export interface ReplicationParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly disk: Disk;
  /** Without it nothing is sent and nothing received. */
  readonly peers?: Peers | undefined;
  readonly driver: VolumeDriver;
  readonly stallMs?: number;
  /** The container, in words, that may write to a volume at this moment. */
  readonly findWriter?: (id: string) => Promise<string | undefined>;
  /** There is news of the copies of a volume. */
  readonly onChange: (id: string) => void;
}

/** What a report says of the replication of a volume. */
export type SeenReplication = Pick<
  SeenVolume,
  | 'epoch'
  | 'generationId'
  | 'epochProof'
  | 'role'
  | 'copies'
  | 'syncedAt'
  | 'syncedEpoch'
  | 'syncedGenerationId'
  | 'final'
  | 'divergent'
>;

/** The part of this node in the replication of its volumes: as the control plane has last said, and in no other way. */
export class Replication {
  readonly #parts: ReplicationParts;
  readonly #records: ReplicationRecords;
  readonly #turns = new SerialTasks();
  readonly #receiver: Receiver;
  readonly #primary: PrimaryRounds | undefined;
  #assigned: ReadonlyMap<string, AssignedVolume> = new Map();

  constructor(parts: ReplicationParts) {
    this.#parts = parts;
    const { peers, stallMs = STALL_MS, onChange } = parts;
    const records = new ReplicationRecords(parts.disk);
    const find = (id: string) => this.#assigned.get(id);
    const common = { ...parts, records, stallMs, find, turns: this.#turns };
    this.#records = records;
    this.#receiver = new Receiver({ ...common, onReceived: onChange });
    this.#primary = peers && new PrimaryRounds({ ...common, peers });
  }

  /** Takes what counts from now on. What is under way and not allowed any more is ended. */
  assign(volumes: ReadonlyMap<string, AssignedVolume> = new Map()): void {
    const before = this.#assigned;
    this.#assigned = volumes;
    this.#receiver.check();
    for (const [id, volume] of volumes) {
      if (!isDeepStrictEqual(before.get(id)?.replication, volume.replication)) this.#primary?.check(volume);
    }
  }

  /** Sends and receives until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { peers } = this.#parts;
    if (!peers || !this.#primary) return;
    await peers.listen(connection => this.#receiver.handle(connection), signal);
    this.#receiver.close();
    await this.#primary.queue.stop(STOP_GRACE_MS);
  }

  /** Makes a volume. Where the primary was its bytes are away, if they are not there: an empty one would be taken for them. */
  async materialise(volume: AssignedVolume): ReturnType<VolumeDriver['materialise']> {
    const record = volume.replication && (await this.#records.read(volume.id));
    return this.#parts.driver.materialise(record?.role === 'primary' ? { ...volume, isMade: true } : volume);
  }

  /** Takes the part that a volume, which is here, is assigned with. Throws when it cannot. */
  async settle(volume: AssignedVolume): Promise<SeenReplication> {
    const { id, replication } = volume;
    if (!replication) return {};
    const { clock, driver } = this.#parts;
    const before = await this.#records.read(id);
    if (!before || !isSettled(before, replication)) {
      // What a container writes while it is stopped belongs to what is set aside.
      const isDemoted = before?.role === 'primary' && replication.role === 'replica';
      const writer = isDemoted ? await this.#parts.findWriter?.(id) : undefined;
      if (writer !== undefined) {
        const remedy = 'stop it if it does not end by itself';
        throw new VolumeFault('failed', `${writer} may still write to what becomes a copy here; ${remedy}`);
      }
      await this.#receiver.end(id);
      await this.#turns.run(id, () => takeRole(id, replication, { clock, driver, records: this.#records }));
      this.#parts.log.info('the part of this node in the replication of a volume', {
        volume: id,
        phase: replication.role,
      });
      this.#primary?.check(volume);
    } else if (before.epochProof !== replication.epochProof) {
      await this.#turns.run(id, () => this.#keepProof(id, replication));
    }
    if (replication.discard) await this.#turns.run(id, () => this.#discard(id, replication.discard!));
    return this.describe(volume);
  }

  /** Of an epoch that was proven with a key which is not used any more. */
  async #keepProof(id: string, { epochProof }: AssignedReplication): Promise<void> {
    const record = await this.#records.read(id);
    if (!record || epochProof === undefined) return;
    try {
      await this.#records.write(id, { ...record, epochProof });
    } catch (thrown) {
      // The volume serves without it, and it is assigned again.
      const error = asError(thrown);
      this.#parts.log.warn('the proof of the epoch of a volume cannot be kept yet', { volume: id, error });
    }
  }

  /** Removes what was set aside and given up. What is still the newest copy here stays until another has arrived. */
  async #discard(id: string, given: NonNullable<AssignedReplication['discard']>): Promise<void> {
    const { driver, log } = this.#parts;
    const { divergent = [], synced } = (await this.#records.read(id)) ?? {};
    const there = await driver.listSnapshots(id);
    for (const { name, at } of divergent) {
      const isGiven = given.some(each => each.name === name && each.at === at);
      if (!isGiven || name === synced?.snapshot || !there.includes(name)) continue;
      try {
        await driver.dropSnapshot(id, name);
        log.info('what was set aside of a volume was removed, as was ordered', { volume: id, because: name });
      } catch (thrown) {
        // The volume serves without it, and the order comes again.
        const error = asError(thrown);
        log.warn('what was set aside of a volume cannot be removed yet', { volume: id, because: name, error });
      }
    }
    try {
      await this.#forgetRemoved(id, given);
    } catch (thrown) {
      // It is tried again while the order stands, and the volume serves with what is remembered too much.
      log.warn('what was removed of a volume cannot be forgotten yet', { volume: id, error: asError(thrown) });
    }
  }

  /**
   * It would be reported again when the volume cannot be provided. What was given up and is elsewhere is no more looked for, unless it
   * is the newest copy: nothing would remove that once it is back.
   */
  async #forgetRemoved(id: string, given: NonNullable<AssignedReplication['discard']>): Promise<void> {
    const there = await this.#parts.driver.listSnapshots(id);
    const record = await this.#records.read(id);
    const isRemoved = ({ name, at }: DivergentBytes) =>
      name !== record?.synced?.snapshot &&
      !there.includes(name) &&
      given.some(each => each.name === name && each.at === at);
    if (!record?.divergent?.some(isRemoved)) return;
    const { divergent, ...rest } = record;
    const left = divergent.filter(each => !isRemoved(each));
    await this.#records.write(id, { ...rest, ...(left.length > 0 && { divergent: left }) });
  }

  /** What is known of copies now, without looking for more. */
  async describe(volume: AssignedVolume): Promise<SeenReplication> {
    const { id, replication } = volume;
    const record = replication && (await this.#records.read(id));
    if (!record || !isSettled(record, replication)) return {};
    const there = record.divergent || record.synced ? await this.#parts.driver.listSnapshots(id) : [];
    const divergent = record.divergent?.filter(({ name }) => there.includes(name)) ?? []; // people remove it by hand
    const { role, synced } = record;
    const seen = toSeen(record, divergent);
    if (role === 'primary') {
      const copies = this.#primary?.describe(volume, replication, record) ?? [];
      const final = this.#primary?.findFinal(id);
      return { ...seen, copies, ...(final && { final }) };
    }
    if (synced === undefined || !there.includes(synced.snapshot)) return seen;
    const { at, snapshot, finalFor } = synced;
    const last = finalFor === undefined ? {} : { final: { epoch: finalFor, snapshot, at } };
    return { ...seen, ...toSeenCopy(synced), ...last };
  }

  /** What this node has been to a volume that it cannot provide now. */
  async recall(id: string): Promise<SeenReplication> {
    const record = await this.#records.read(id).catch(() => undefined);
    if (!record) return {};
    const { divergent, synced } = record;
    return { ...toSeen(record, divergent), ...(synced && toSeenCopy(synced)) };
  }

  /** All that is known of a volume, for what is kept of it when it is removed. */
  async remember(id: string): Promise<object | undefined> {
    return this.#records.read(id).catch(() => undefined);
  }

  /** Whether a volume is larger than it was asked for, since a copy arrives that does not fit beside the one before. */
  isGrown(id: string): boolean {
    return this.#receiver.isGrown(id);
  }

  /** Why a container may not mount a volume here; undefined when it may. */
  async explainUnusable({ id, replication }: AssignedVolume): Promise<string | undefined> {
    if (!replication) return undefined;
    if (replication.role === 'replica') return 'is a copy here: what mounts it runs on the node of its primary';
    if (replication.isHeld) return HELD;
    if (replication.finalFor !== undefined) return 'moves to another node: what mounts it is started there';
    return isSettled(await this.#records.read(id), replication) ? undefined : 'is not promoted here yet';
  }

  /** Throws when the bytes of a volume are newer than the order to remove them. */
  async demandOrder(volume: AssignedVolume): Promise<void> {
    const because = explainKept(await this.#records.read(volume.id), volume);
    if (because !== undefined) throw new VolumeFault('refused', because);
  }

  /** The volume is removed: what is known of it goes too. */
  async remove(id: string): Promise<void> {
    await this.#receiver.end(id);
    await this.#records.remove(id);
  }
}

/** A report without what it says of copies, and of what a primary promises: what is not so any more is not repeated. */
export function withoutReplication(seen: SeenVolume): SeenVolume {
  const { epoch: _e, generationId: _g, role: _r, copies: _c, final: _f, divergent: _d, ...more } = seen;
  const { syncedAt: _at, syncedEpoch: _in, syncedGenerationId: _of, ...other } = more;
  const { epochProof: _p, fencesAfterSeconds: _a, unfenced: _u, ...rest } = other;
  return rest;
}

function toSeen(
  { epoch, generationId, epochProof, role }: ReplicationRecord,
  divergent: readonly DivergentBytes[] = [],
): SeenReplication {
  return {
    epoch,
    generationId,
    ...(epochProof !== undefined && { epochProof }),
    role,
    ...(divergent.length > 0 && { divergent }),
  };
}

function toSeenCopy({ at, epoch, generationId }: NonNullable<ReplicationRecord['synced']>): SeenReplication {
  return { syncedAt: at, syncedEpoch: epoch, syncedGenerationId: generationId };
}

function isSettled(record: ReplicationRecord | undefined, assigned: AssignedReplication): boolean {
  return record !== undefined && isSameTerm(record, assigned) && record.role === assigned.role;
}

/** How far the moment of a copy must have moved to be worth a write of the control plane. */
const NEWS_MS = 10_000;
/** How much further a transfer must have come. */
const NEWS_SHARE = 0.05;

/** Whether a report says something new about copies. */
export function isReplicationNews(before: SeenReplication, seen: SeenReplication): boolean {
  if (!isSameTerm(before, seen) || before.role !== seen.role || before.syncedEpoch !== seen.syncedEpoch) return true;
  if (before.syncedGenerationId !== seen.syncedGenerationId) return true;
  if (!isDeepStrictEqual(before.divergent, seen.divergent) || hasMoved(before.syncedAt, seen.syncedAt)) return true;
  if (!isDeepStrictEqual(before.final, seen.final)) return true;
  const { copies: old = [] } = before;
  const { copies: now = [] } = seen;
  return old.length !== now.length || now.some((copy, index) => isCopyNews(old[index]!, copy));
}

type SeenCopies = NonNullable<SeenReplication['copies']>;

function isCopyNews(before: SeenCopies[number], copy: SeenCopies[number]): boolean {
  if (before.nodeId !== copy.nodeId || before.state !== copy.state || before.message !== copy.message) return true;
  if (hasMoved(before.syncedAt, copy.syncedAt) || hasGrown(before.lagBytes, copy.lagBytes)) return true;
  // What is under way of a copy that is synced is over before it can be read.
  if (copy.state === 'synced') return false;
  const total = copy.totalBytes ?? copy.sentBytes ?? 0;
  return Math.abs((before.sentBytes ?? 0) - (copy.sentBytes ?? 0)) > total * NEWS_SHARE;
}

/** Whether a lag has become known, become unknown, gone, or doubled. */
function hasGrown(before: number | undefined, now: number | undefined): boolean {
  return Math.sign(before ?? -1) !== Math.sign(now ?? -1) || (now ?? 0) > (before ?? 0) * 2;
}

function hasMoved(before: string | undefined, now: string | undefined): boolean {
  if (before === undefined || now === undefined) return before !== now;
  return Math.abs(Date.parse(now) - Date.parse(before)) >= NEWS_MS;
}
