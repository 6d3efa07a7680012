import type { AssignedReplication } from '../../../crds/volume/index.js';
import type { Clock } from '../../clock/index.js';
import { failpoint } from '../../failpoint/index.js';
import { type VolumeDriver, VolumeFault } from '../volumes/index.js';
import { listForCopies, type ReplicationRecord, type ReplicationRecords } from './record.js';

/** What has to be done before this node acts as it is told to. */
export type RoleStep =
  /** It does already. */
  | { readonly kind: 'none' }
  /** Only the record changes. */
  | { readonly kind: 'note' }
  /** The volume becomes what the copy holds. */
  | { readonly kind: 'promote'; readonly snapshot: string }
  /** What it holds is set aside, and a copy takes its place. */
  | { readonly kind: 'demote' }
  | { readonly kind: 'refuse'; readonly because: string };

const refuse = (because: string): RoleStep => ({ kind: 'refuse', because });

/**
 * Decides how a node comes to its part. `snapshots` are those for copies that are here.
 *
 * The record decides, and not the disk: both a primary and a replica have snapshots, and only one of them may lose what its volume holds.
 */
export function decideRole(
  record: ReplicationRecord | undefined,
  { epoch, role }: Pick<AssignedReplication, 'epoch' | 'role'>,
  snapshots: readonly string[],
): RoleStep {
  if (!record) {
    // Nobody begins as the primary of a later epoch: what others have written is not here.
    if (snapshots.length === 0 && (role === 'replica' || epoch <= 1)) return { kind: 'note' };
    return refuse(
      'the record of what this copy is was lost; restore the state folder of the agent, or delete the copy',
    );
  }
  if (epoch < record.epoch) {
    return refuse('the control plane tells of an earlier epoch than this copy has seen; restore a newer backup of it');
  }
  if (role === record.role) return { kind: epoch === record.epoch ? 'none' : 'note' };
  if (epoch === record.epoch) {
    return refuse('the control plane gives this copy another part in the same epoch; restore a newer backup of it');
  }
  if (role === 'replica') return { kind: 'demote' };
  const { snapshot } = record.synced ?? {};
  if (snapshot !== undefined && snapshots.includes(snapshot)) return { kind: 'promote', snapshot };
  return refuse('no complete copy has arrived here, so it cannot be promoted; choose another copy');
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
  const { epoch, role } = replication;
  const record = await records.read(id);
  const own = listForCopies(await driver.listSnapshots(id), record);
  const step = decideRole(record, replication, own);
  if (step.kind === 'refuse') throw new VolumeFault('refused', step.because);
  if (step.kind === 'none') return record!;
  const next = await takeStep();
  await records.write(id, next);
  return next;

  async function takeStep(): Promise<ReplicationRecord> {
    const divergent = record?.divergent ? { divergent: record.divergent } : {};
    if (step.kind === 'promote') {
      await driver.promote(id, step.snapshot);
      failpoint('volume.copy_promoted');
      const { snapshot: origin } = step;
      return { epoch, role, times: { [origin]: record!.synced!.at }, origin, ...divergent };
    }
    if (step.kind === 'demote') {
      const kept = await setAside(id, record!, replication, { clock, driver });
      failpoint('volume.set_aside');
      return { epoch, role, divergent: [...(record!.divergent ?? []), ...kept] };
    }
    return { ...record, epoch, role };
  }
}

/** Keeps what the volume of a former primary holds, unless the copy that took over from it has all of it: others drop what that one has not. */
async function setAside(
  id: string,
  record: ReplicationRecord,
  { epoch: next, peers }: AssignedReplication,
  { clock, driver }: Pick<RoleParts, 'clock' | 'driver'>,
): Promise<NonNullable<ReplicationRecord['divergent']>> {
  const { epoch, common = {} } = record;
  const newest = listForCopies(await driver.listSnapshots(id), record).at(-1);
  const isElsewhere = next === epoch + 1 && common[peers[0]?.nodeId ?? '']?.snapshot === newest;
  if (newest !== undefined && isElsewhere && !(await driver.isChanged(id, newest))) return [];
  const there = await driver.listSnapshots(id);
  const names = [`divergent-${epoch}`];
  // One that was taken before a crash, and written after: both are kept.
  for (let last = names[0]!; there.includes(last) && (await driver.isChanged(id, last)); names.push(last)) {
    last = `divergent-${epoch}-${names.length + 1}`;
  }
  await driver.snapshot(id, names.at(-1)!);
  const at = new Date(clock.now()).toISOString();
  return names.map(name => ({ name, epoch, at }));
}
