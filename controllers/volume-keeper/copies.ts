import { isMadeVolume, type VolumeReplica, type VolumeStatus } from '../../crds/volume/index.js';
import { findReport, isSilent, listKnownCopies, type VolumeInput } from './input.js';
import { isOfEpoch } from './promote.js';

/** What is kept of the nodes of a volume beside the primary. */
export interface Copies extends Pick<VolumeStatus, 'epoch' | 'copies' | 'leaving'> {
  /** Why some have no node. */
  readonly because?: string;
}

/** How long the node of a copy may be lost until another takes one: longer than a machine takes to come back. */
const REPLACE_AFTER_MS = 600_000;

const UNSAFE =
  'it is to be removed, and stays until the primary and the other copies have every byte and nothing is set aside beside it';

/**
 * Decides where the copies of a volume are, and how far each is.
 *
 * A copy stays where it is: it leaves only when that was asked for, when there are too many, or when its node breaks the residency
 * of the volume, and only while its bytes are elsewhere for certain. One on a node that is not heard is lost and keeps its place: what
 * its node still has may be the newest there is. After a while another one is made beside it.
 */
export function decideCopies(input: VolumeInput, primaryNode: string | undefined, promotedTo?: number): Copies {
  const { volume, status, findHost } = input;
  const leaving = new Set(listLeaving(input, primaryNode));
  if (volume.class !== 'replicated') return toCopies({ copies: [] }, leaving);
  const epoch = promotedTo ?? status?.epoch ?? Math.max(1, ...input.reports.map(report => report.epoch ?? 1));
  const all = promotedTo === undefined ? listKnownCopies(input) : listAfterPromotion(input);
  if (primaryNode === undefined) return toCopies(all.length > 0 ? { epoch, copies: all } : { copies: [] }, leaving);
  const known = all
    .filter(({ nodeId }) => nodeId !== primaryNode && findHost(nodeId))
    .map(copy => observe(copy, input, primaryNode, epoch));
  if (volume.metadata.deletedAt !== undefined) return toCopies({ epoch, copies: known }, leaving);

  const { replicas = 0, replicaNodes: named = [], excludedNodes = [] } = volume;
  const isFixed = (copy: VolumeReplica) => isUnheard(copy, input) || mayHoldMore(copy, input, epoch);
  const allowed = known.filter(({ nodeId }) => !excludedNodes.includes(nodeId) && !findHost(nodeId)?.isOutside);
  const spare = chooseBest(
    allowed.filter(copy => !isFixed(copy)),
    replicas,
    named,
  );
  const wanted = allowed.filter(copy => isFixed(copy) || spare.includes(copy));
  const isSafe = isServed(input, primaryNode, epoch) && areComplete(wanted);
  const staying = known.filter(copy => wanted.includes(copy) || isFixed(copy) || !isSafe);
  for (const copy of known) if (!staying.includes(copy)) leaving.add(copy.nodeId);

  // Before there are bytes there is nothing to copy.
  const counted = wanted.filter(copy => !isReplaceable(copy, input)).length;
  const count = isMadeVolume(status) ? replicas - counted : 0;
  const removed = input.reports.filter(({ state }) => state === 'removed').map(({ nodeId }) => nodeId);
  const held = [primaryNode, ...staying.map(({ nodeId }) => nodeId)];
  const taken = new Set([...held, ...leaving, ...removed, ...excludedNodes]);
  const { nodes, because } = input.chooseReplicas({ count, named, taken });
  const added = nodes.map(({ id }): VolumeReplica => ({ nodeId: id, state: 'syncing' }));
  const kept = staying.map(copy => (wanted.includes(copy) ? copy : { message: UNSAFE, ...copy }));
  const copies = [...kept, ...added.map(copy => observe(copy, input, primaryNode, epoch))];
  return { ...toCopies({ epoch, copies }, leaving), ...(because !== undefined && { because }) };
}

/** The former primary is a copy from now on, and none is up to date with the new one yet. */
function listAfterPromotion({ status }: VolumeInput): readonly VolumeReplica[] {
  const { primaryNode, copies = [] } = status ?? {};
  const nodes = [...copies.map(({ nodeId }) => nodeId), ...(primaryNode === undefined ? [] : [primaryNode])];
  return nodes.map(nodeId => ({ nodeId, state: 'syncing' }));
}

function toCopies(copies: Copies, leaving: ReadonlySet<string>): Copies {
  return { ...copies, ...(leaving.size > 0 && { leaving: [...leaving] }) };
}

/** The nodes that are still to remove their copies. */
function listLeaving(input: VolumeInput, primaryNode: string | undefined): readonly string[] {
  const { status, findHost } = input;
  const all = status?.leaving ?? [];
  return all.filter(id => id !== primaryNode && findHost(id) && findReport(input, id)?.state !== 'removed');
}

const RANKS: Readonly<Record<VolumeReplica['state'], number>> = { synced: 0, syncing: 1, lost: 2 };

/** As many as are wanted: those that were asked for by name, then those that are furthest. */
function chooseBest(
  copies: readonly VolumeReplica[],
  wanted: number,
  named: readonly string[],
): readonly VolumeReplica[] {
  const rank = ({ nodeId, state }: VolumeReplica) => (named.includes(nodeId) ? 0 : 10) + RANKS[state];
  return copies.toSorted((a, b) => rank(a) - rank(b)).slice(0, wanted);
}

/** Whether the primary has every byte, by its own word. */
function isServed(input: VolumeInput, primaryNode: string, epoch: number): boolean {
  const host = input.findHost(primaryNode);
  const report = findReport(input, primaryNode);
  return host !== undefined && !isSilent(host) && report?.state === 'ready' && isOfEpoch(report, { epoch });
}

/** Whether nothing is lost without any other copy: those that are heard are complete, and one is heard if there is any. */
function areComplete(copies: readonly VolumeReplica[]): boolean {
  const heard = copies.filter(({ state }) => state !== 'lost');
  return heard.every(({ state }) => state === 'synced') && (heard.length > 0 || copies.length === 0);
}

function isUnheard({ nodeId }: VolumeReplica, { findHost }: VolumeInput): boolean {
  const host = findHost(nodeId);
  return !host || isSilent(host);
}

/**
 * Whether a node may have bytes that no other has: a former primary, until its agent has said in this epoch that nothing was set aside.
 * Only people remove such a copy.
 */
function mayHoldMore({ nodeId }: VolumeReplica, input: VolumeInput, epoch: number): boolean {
  const report = findReport(input, nodeId);
  if (!report) return false;
  const isSettled = report.epoch === epoch || (report.epoch === undefined && epoch === 1);
  return !isSettled || (report.divergent?.length ?? 0) > 0;
}

function isReplaceable({ nodeId }: VolumeReplica, { findHost, now }: VolumeInput): boolean {
  const { lost } = findHost(nodeId) ?? {};
  return lost !== undefined && Date.parse(now) - Date.parse(lost.since) >= REPLACE_AFTER_MS;
}

/** How far a copy is: as the agent of the primary says, unless its own node is not heard or cannot hold it. */
function observe(copy: VolumeReplica, input: VolumeInput, primaryNode: string, epoch: number): VolumeReplica {
  const { nodeId } = copy;
  const primary = findReport(input, primaryNode);
  const isCurrent = primary?.epoch === epoch && primary.role === 'primary';
  const told = isCurrent ? primary.copies?.find(each => each.nodeId === nodeId) : undefined;
  const { state, ...known } = told ?? copy;
  const host = input.findHost(nodeId);
  if (!host || isSilent(host)) return { ...known, state: 'lost', message: 'its node is not heard' };
  const own = findReport(input, nodeId);
  if (own?.state === 'failed') return { ...known, state: 'syncing', message: own.message ?? 'its node cannot hold it' };
  if (told) return { ...known, state };
  const { message: _, ...rest } = known;
  return { ...rest, state: state === 'lost' ? 'syncing' : state };
}

/** What people read of the copies beside the place of the primary. */
export function describeCopies({ copies, because }: Copies, wanted: number): string {
  const synced = copies.filter(({ state }) => state === 'synced').length;
  const waiting = wanted - copies.length;
  const wait = waiting > 0 && because !== undefined ? `; ${waiting} without a node: ${because}` : '';
  return `; ${synced} of ${wanted} ${wanted === 1 ? 'copy' : 'copies'} synced${wait}`;
}
