import {
  type AssignedReplication,
  type AssignedVolume,
  isForeignTerm,
  isSameTerm,
  type VolumeTerm,
} from '../../../crds/volume/index.js';
import type { Clock } from '../../clock/index.js';
import { failpoint } from '../../failpoint/index.js';
import { type VolumeDriver, VolumeFault } from '../volumes/index.js';
import { isSyncName, ORIGINS_MAX, readSyncName } from './messages.js';
import {
  dropSpent,
  formatAsideName,
  listForCopies,
  type ReplicationRecord,
  type ReplicationRecords,
} from './record.js';

/** What has to be done before this node acts as it is assigned to. */
export type RoleStep =
  /** It does already. */
  | { readonly kind: 'none' }
  /** Only the record changes. */
  | { readonly kind: 'note' }
  /** The volume becomes what the copy holds. */
  | { readonly kind: 'promote'; readonly snapshot: string }
  /** What it holds is set aside, and a copy takes its place. */
  | { readonly kind: 'demote' }
  /** It was chosen as the first primary, and another one before it was used. What it holds all the same is set aside. */
  | { readonly kind: 'step_back' }
  | { readonly kind: 'refuse'; readonly because: string };

const SET_BACK =
  'what is known here is of an earlier epoch, in which this node was the primary; restore the newest state folder of the agent, or promote another copy';

/** Set aside, its bytes would be no longer what a newer backup brings back with everything. */
const SERVED =
  'this node was the primary of the volume in the same epoch; restore a newer backup of the control plane, or copy out what is here (docs/OPERATIONS.md) and remove the copy with force';

const OTHER_HISTORY =
  'this node has acted in the same epoch in another history of the volume, which a restore of the control plane has ended; promote another copy: what is here is set aside then';

/** Whether a snapshot is what a former primary held. */
const isSetAside = (name: string): boolean => name.startsWith('divergent-');

const refuse = (because: string): RoleStep => ({ kind: 'refuse', because });

/**
 * Decides how a node comes to its part. `snapshots` are all that are here.
 *
 * The record decides, and not the disk: both a primary and a replica have snapshots, and only one of them may lose what its volume holds.
 */
export function decideRole(
  record: ReplicationRecord | undefined,
  { epoch, generationId, role }: Pick<AssignedReplication, 'epoch' | 'generationId' | 'role'>,
  snapshots: readonly string[],
): RoleStep {
  if (!record) {
    const isUsed = snapshots.some(name => isSyncName(name) || isSetAside(name));
    // No node begins as the primary of a later epoch: what others have written is not here.
    if (!isUsed && (role === 'replica' || epoch <= 1)) return { kind: 'note' };
    return refuse(
      'the record of what this copy is was lost; restore the state folder of the agent, or delete the copy',
    );
  }
  if (epoch < record.epoch) {
    return refuse('the control plane has an earlier epoch than this copy has seen; restore a newer backup of it');
  }
  const isSame = isSameTerm(record, { epoch, generationId });
  // What others have written since the epoch was issued again is not here.
  if (role === 'primary' && epoch === record.epoch && !isSame) return refuse(OTHER_HISTORY);
  if (role === record.role) {
    if (isSame) return { kind: 'none' };
    // No primary is promoted: between two epochs of one it was a copy, and what it had then is not in this record.
    return role === 'replica' ? { kind: 'note' } : refuse(SET_BACK);
  }
  if (isSame) {
    // A volume that its first node seemed unable to make is made on another in the same epoch. One that was served has snapshots.
    if (role === 'replica' && epoch === 1 && !record.times && !snapshots.some(isSyncName)) return { kind: 'step_back' };
    if (role === 'replica') return refuse(SERVED);
    return refuse('the control plane gives this copy another part in the same epoch; restore a newer backup of it');
  }
  if (role === 'replica') return { kind: 'demote' };
  const { snapshot } = record.synced ?? {};
  if (snapshot !== undefined && snapshots.includes(snapshot)) return { kind: 'promote', snapshot };
  return refuse('no complete copy has arrived here, so it cannot be promoted; choose another copy');
}

const NEWER =
  'the order to remove it is of an earlier epoch than this node, or another one, has seen, so its bytes are kept: they may be the newest there are; restore a newer backup of the control plane, or have the agents report (docs/OPERATIONS.md, volume_epoch_behind)';

const UNNAMED = 'the order to remove it names no epoch, so its bytes are kept: nothing says that they are no newer';

const FOREIGN =
  'the order to remove it is of another history of the volume than this node has acted in, which a restore of the control plane has ended, so its bytes are kept: ask for the copy again ("moor volumes replicas add"), and what only it has is set aside and reported; remove it then with force';

/**
 * Why bytes stay whose removal is ordered; undefined when they go. A store that was restored from an old backup has orders that were carried
 * out long ago, about bytes that have come since.
 */
export function explainKept(
  record: VolumeTerm | undefined,
  { removedIn, lineage = [] }: Pick<AssignedVolume, 'removedIn' | 'lineage'>,
): string | undefined {
  if (removedIn === undefined) return UNNAMED;
  if (!record) return undefined;
  if (removedIn < record.epoch) return NEWER;
  return isForeignTerm(record, lineage) ? FOREIGN : undefined;
}

export interface RoleParts {
  readonly clock: Clock;
  readonly driver: VolumeDriver;
  readonly records: ReplicationRecords;
}

/** Takes a part in the replication of a volume that is here, and records it; answers the record. May be repeated after any crash. */
export async function takeRole(
  id: string,
  replication: AssignedReplication,
  { clock, driver, records }: RoleParts,
): Promise<ReplicationRecord> {
  const { epoch, generationId, role, epochProof } = replication;
  const record = await records.read(id);
  const snapshots = await driver.listSnapshots(id);
  const step = decideRole(record, replication, snapshots);
  if (step.kind === 'refuse') throw new VolumeFault('refused', step.because);
  if (step.kind === 'none') return record!;
  const next = { ...(await takeStep()), epoch, generationId, role, ...(epochProof !== undefined && { epochProof }) };
  await records.write(id, next);
  return next;

  async function takeStep(): Promise<Omit<ReplicationRecord, 'epoch' | 'generationId' | 'role'>> {
    if (step.kind === 'promote') {
      await driver.promote(id, step.snapshot);
      failpoint('volume.copy_promoted');
      return describePromoted(record!, snapshots);
    }
    if (step.kind === 'note') return record ?? {};
    const isKept = snapshots.some(isSetAside); // by an attempt that a crash has ended
    if (step.kind === 'step_back' && !isKept && (await driver.isEmpty(id))) return {};
    const kept = await setAside(id, record!, { clock, driver });
    failpoint('volume.set_aside');
    // It is no copy of what the other has: it may not be promoted.
    if (step.kind === 'step_back') return { divergent: kept.divergent ?? [] };
    await dropSpent(id, record!, driver);
    return { ...(record!.origins && { origins: record!.origins }), ...kept };
  }
}

/** What a copy is recorded as that has become the volume. What it was set aside as is set aside no more. */
function describePromoted({ synced, origins = [], divergent = [] }: ReplicationRecord, snapshots: readonly string[]) {
  const { snapshot, at } = synced!;
  // A former primary has all that was ever sent in its term.
  const sent = snapshots.findLast(name => isSyncName(name) && isSameTerm(readSyncName(name), synced!));
  const origin = isSyncName(snapshot) ? snapshot : sent;
  const chain = new Set([...origins, ...(origin === undefined ? [] : [origin])]);
  const others = divergent.filter(({ name }) => name !== snapshot);
  return {
    times: { [snapshot]: at },
    origins: [...chain].slice(-ORIGINS_MAX),
    ...(others.length > 0 && { divergent: others }),
  };
}

/**
 * Keeps what the volume of a former primary holds, and records it as the copy that it is from now on: until a later epoch is served it
 * is the freshest there is. What is in a snapshot for copies is compared with what the new primary has when that one sends.
 */
async function setAside(
  id: string,
  { epoch, generationId, times = {}, divergent = [], ...record }: ReplicationRecord,
  { clock, driver }: Pick<RoleParts, 'clock' | 'driver'>,
): Promise<Pick<ReplicationRecord, 'divergent' | 'synced'>> {
  const there = await driver.listSnapshots(id);
  const term = { epoch, generationId };
  const base = formatAsideName(term);
  const moved = `${base}-moved`;
  const newest = listForCopies(there, { ...record, ...term, divergent }).findLast(name => times[name] !== undefined);
  const kept = there.filter(name => name === base || name.startsWith(`${base}-`));
  if (kept.length === 0 && newest !== undefined && !(await driver.isChanged(id, newest))) {
    return { divergent, synced: { snapshot: newest, at: times[newest]!, ...term } };
  }
  const last = kept.at(-1);
  // One that was taken before a crash, and written after: both are kept.
  if (last !== moved && (last === undefined || (await driver.isChanged(id, last)))) {
    kept.push(await keep(last === undefined ? base : `${base}-${kept.length + 1}`));
  }
  const latest = Math.max(...Object.values(times).map(time => Date.parse(time)));
  const at = new Date(Math.max(clock.now(), latest + 1)).toISOString();
  const snapshot = kept.at(-1)!;
  const listed = [...divergent, ...kept.map(name => ({ name, epoch, at }))];
  return { divergent: listed, ...(snapshot !== moved && { synced: { snapshot, at, ...term } }) };

  /** Where no snapshot can be taken, or not of everything, the files themselves are moved: a copy does not need them. */
  async function keep(name: string): Promise<string> {
    try {
      await driver.snapshot(id, name);
      return name;
    } catch (thrown) {
      const isHopeless = thrown instanceof VolumeFault && (thrown.why === 'refused' || thrown.why === 'no_space');
      if (!isHopeless) throw thrown;
      await driver.moveAside(id, moved);
      return moved;
    }
  }
}
