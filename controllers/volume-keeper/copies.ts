import {
  isForeignTerm,
  isMadeVolume,
  type VolumeMove,
  type VolumeReplica,
  type VolumeReport,
  type VolumeStatus,
  type VolumeTerm,
} from '../../crds/volume/index.js';
import { decideLineage } from './lineage.js';
import { countFailedMs, findReport, isSilent, listKnownCopies, type VolumeInput } from './input.js';
import { isOfEpoch } from './promote.js';

/** What is kept of the nodes of a volume beside the primary. */
export interface Copies extends Pick<VolumeStatus, 'epoch' | 'lineage' | 'copies' | 'leaving'> {
  /** Why some have no node. */
  readonly because?: string;
}

/** The epoch that copies are of, and the terms up to it. */
interface CopiesTerm {
  readonly epoch: number;
  readonly lineage: readonly VolumeTerm[];
}

/** How long the node of a copy may be lost or fail until another takes one: longer than a machine takes to come back. */
const REPLACE_AFTER_MS = 600_000;

const UNSAFE =
  'it is to be removed, and stays until the primary and another copy have every byte and nothing is set aside beside it; force removes it before';

const MISSING =
  'its bytes are not there any more: mount the disk that holds them and restart the agent, or remove the copy with force';

/** What is decided beside the copies. */
interface CopiesContext {
  /** The epoch that another primary begins with. */
  readonly promotedTo?: number | undefined;
  /** A move that is under way: the copy that it ends at stays, and is made where there is none. */
  readonly move?: VolumeMove | undefined;
}

/**
 * Decides where the copies of a volume are, and how far each is.
 *
 * A copy stays where it is: it leaves only when that was asked for, when there are too many, or when its node breaks the residency
 * of the volume, and only while its bytes are elsewhere for certain, or a user gave them up. One on a node that sends no heartbeats is lost
 * and keeps its place: what its node still has may be the newest there is. Beside one that is lost or fails for long another is made.
 */
export function decideCopies(
  input: VolumeInput,
  primaryNode: string | undefined,
  { promotedTo, move }: CopiesContext = {},
): Copies {
  const { volume, status, findHost } = input;
  const leaving = new Set(listLeaving(input, primaryNode));
  if (volume.class !== 'replicated') return toCopies({ copies: [] }, leaving);
  const epoch = promotedTo ?? status?.epoch ?? Math.max(1, ...input.reports.map(report => report.epoch ?? 1));
  const all = promotedTo === undefined ? listKnownCopies(input) : listAfterPromotion(input);
  if (primaryNode === undefined && all.length === 0) return toCopies({ copies: [] }, leaving);
  const term: CopiesTerm = { epoch, lineage: decideLineage(input, epoch) };
  if (primaryNode === undefined) return toCopies({ ...term, copies: all }, leaving);
  const known = all
    .filter(({ nodeId }) => nodeId !== primaryNode && findHost(nodeId))
    .map(copy => observe(copy, input, primaryNode, epoch));
  if (volume.metadata.deletedAt !== undefined) return toCopies({ ...term, copies: known }, leaving);

  const { replicas = 0, replicaNodes: named = [], excludedNodes = [], abandonedNodes = [] } = volume;
  const isAbandoned = ({ nodeId }: VolumeReplica) => abandonedNodes.includes(nodeId);
  const isFixed = (copy: VolumeReplica) =>
    copy.nodeId === move?.to ||
    (!isAbandoned(copy) && (isOnSilentNode(copy, input) || mayHoldMore(findReport(input, copy.nodeId), term)));
  const isCounted = (copy: VolumeReplica) => !isLostForLong(copy, input) && !isFailing(copy, input);
  const allowed = known.filter(({ nodeId }) => !excludedNodes.includes(nodeId) && !findHost(nodeId)?.isOutside);
  const spare = chooseBest(
    allowed.filter(copy => !isFixed(copy)),
    input,
  );
  const wanted = allowed.filter(copy => isFixed(copy) || spare.includes(copy));
  const served = isServed(input, primaryNode, epoch);
  const isSafe = served && (areComplete(wanted.filter(isCounted)) || wanted.length + replicas === 0);
  const isStaying = (copy: VolumeReplica) =>
    wanted.includes(copy) || isFixed(copy) || !(isSafe || (served && isAbandoned(copy)));
  const staying = known.filter(isStaying);
  for (const copy of known) if (!staying.includes(copy)) leaving.add(copy.nodeId);

  // Before there are bytes, and after they are gone, there is nothing to copy. What is given up may still be found on a machine.
  const isCopied = isMadeVolume(status) && (findHost(primaryNode) !== undefined || status?.phase === 'Failed');
  // Where every node fails, not each of them is tried.
  const surplus = Math.max(0, staying.filter(copy => isFailing(copy, input)).length - replicas);
  const extra = move?.isCopyMade ? 1 : 0;
  // The copy that a move waits for is made however many there are.
  const least = extra > 0 && !staying.some(({ nodeId }) => nodeId === move!.to) ? 1 : 0;
  const count = isCopied ? Math.max(least, replicas + extra - wanted.filter(isCounted).length - surplus) : 0;
  const removed = input.reports.filter(({ state }) => state === 'removed').map(({ nodeId }) => nodeId);
  const held = [primaryNode, ...staying.map(({ nodeId }) => nodeId)];
  const taken = new Set([...held, ...leaving, ...removed, ...excludedNodes]);
  const { nodes, because } = input.chooseReplicas({
    count,
    named: extra > 0 ? [move!.to!, ...named] : named,
    taken,
  });
  const added = nodes.map(({ id }): VolumeReplica => ({ nodeId: id, state: 'syncing' }));
  const kept = staying.map(copy => (wanted.includes(copy) ? copy : { message: UNSAFE, ...copy }));
  const copies = [...kept, ...added.map(copy => observe(copy, input, primaryNode, epoch))];
  return { ...toCopies({ ...term, copies }, leaving), ...(because !== undefined && { because }) };
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

/** As many as are wanted: those that do not fail, those that were asked for by name, then those that are furthest. */
function chooseBest(copies: readonly VolumeReplica[], input: VolumeInput): readonly VolumeReplica[] {
  const { replicas = 0, replicaNodes: named = [] } = input.volume;
  const rank = (copy: VolumeReplica) =>
    (isFailing(copy, input) ? 100 : 0) + (named.includes(copy.nodeId) ? 0 : 10) + RANKS[copy.state];
  return copies.toSorted((a, b) => rank(a) - rank(b)).slice(0, replicas);
}

/** Whether the primary has every byte, by its own word. */
function isServed(input: VolumeInput, primaryNode: string, epoch: number): boolean {
  const host = input.findHost(primaryNode);
  const report = findReport(input, primaryNode);
  return (
    host !== undefined &&
    !isSilent(host) &&
    report?.state === 'ready' &&
    isOfEpoch(report, { epoch, lineage: input.status?.lineage ?? [] })
  );
}

/** Whether nothing is lost without any other copy: those on nodes that send heartbeats are complete, and there is one. */
function areComplete(copies: readonly VolumeReplica[]): boolean {
  const present = copies.filter(({ state }) => state !== 'lost');
  return present.length > 0 && present.every(({ state }) => state === 'synced');
}

function isOnSilentNode({ nodeId }: VolumeReplica, { findHost }: VolumeInput): boolean {
  const host = findHost(nodeId);
  return !host || isSilent(host);
}

/**
 * Whether a node may have bytes that no other has: it was not compared with the primary of this epoch yet, or something was set aside.
 * Only people remove such a copy.
 */
function mayHoldMore(report: VolumeReport | undefined, { epoch, lineage }: CopiesTerm): boolean {
  if (!report) return false;
  const { epoch: seen = 1, syncedEpoch = epoch, syncedGenerationId: generationId, divergent = [] } = report;
  const isOther = isForeignTerm(report, lineage) || isForeignTerm({ epoch: syncedEpoch, generationId }, lineage);
  return seen !== epoch || syncedEpoch < epoch || isOther || divergent.length > 0;
}

function isLostForLong({ nodeId }: VolumeReplica, { findHost }: VolumeInput): boolean {
  const { lost } = findHost(nodeId) ?? {};
  return lost !== undefined && lost.silentMs >= REPLACE_AFTER_MS;
}

/** Whether the agent of a copy says for long that it cannot hold it, or that of the primary that it does not get through to it. */
function isFailing({ nodeId, failingSince, sentBytes }: VolumeReplica, input: VolumeInput): boolean {
  const report = findReport(input, nodeId);
  const stuckMs = failingSince === undefined || sentBytes !== undefined ? 0 : (input.ages[`stuck ${nodeId}`] ?? 0);
  const failedMs = report?.state === 'failed' ? countFailedMs(input, nodeId) : 0;
  return Math.max(stuckMs, failedMs) >= REPLACE_AFTER_MS;
}

/** How far a copy is, and since when it gets no further. A transfer that starts over does not count as better before it has ended. */
function observe(copy: VolumeReplica, input: VolumeInput, primaryNode: string, epoch: number): VolumeReplica {
  const { failingSince = input.now, ...before } = copy;
  const seen = observeState(before, input, primaryNode, epoch);
  const isHeldUp = seen.state === 'syncing' && seen.message !== undefined;
  return isHeldUp && isServed(input, primaryNode, epoch) ? { ...seen, failingSince } : seen;
}

/** How far a copy is: as the agent of the primary says, unless its own node sends no heartbeats, cannot hold it or reports none. */
function observeState(copy: VolumeReplica, input: VolumeInput, primaryNode: string, epoch: number): VolumeReplica {
  const { nodeId } = copy;
  const primary = findReport(input, primaryNode);
  const isCurrent = primary?.epoch === epoch && primary.role === 'primary';
  const reported = isCurrent ? primary.copies?.find(each => each.nodeId === nodeId) : undefined;
  const { lastWhole } = copy; // an agent that was started again does not know it any more
  const { state, ...known } = reported ? { ...(lastWhole && { lastWhole }), ...reported } : copy;
  const host = input.findHost(nodeId);
  if (!host || isSilent(host))
    return { ...known, state: 'lost', message: 'its node sends no heartbeats, or is no longer enrolled' };
  const own = findReport(input, nodeId);
  if (own?.state === 'failed') {
    // What the agent advises then is meant for a volume without copies.
    const message = own.isMissing === true ? MISSING : (own.message ?? 'its node cannot hold it');
    return { ...known, state: 'syncing', message };
  }
  // The primary may not have asked since the copy was recreated, nor its node have made it yet.
  if (state === 'synced' && own?.syncedAt === undefined) {
    const { lagBytes: _lag, syncedAt: _at, ...rest } = known;
    return { ...rest, state: 'syncing', ...(own?.message !== undefined && { message: own.message }) };
  }
  // One that could not get its size is complete until the primary holds more than fits.
  if (reported) return { ...known, state, ...(own?.message !== undefined && { message: own.message }) };
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
