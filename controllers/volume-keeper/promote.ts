import {
  isForeignTerm,
  type VolumeFailover,
  type VolumeReplica,
  type VolumeReport,
  type VolumeStatus,
  type VolumeTerm,
} from '../../crds/volume/index.js';
import {
  countFailedMs,
  findReport,
  type HostLoss,
  isOne,
  isSilent,
  listKnownCopies,
  listNames,
  nextEpoch,
  type VolumeHost,
  type VolumeInput,
} from './input.js';

/** How long an agent may take to stop what writes to its volumes. */
const STOP_MARGIN_MS = 30_000;
/** How long the node of a copy may fail to take over. Doubled with each copy that was tried. */
const PATIENCE_MS = 30_000;
const DOUBLINGS_MAX = 5;
/** How long one may say nothing of it, and how long a primary may not find its bytes: a disk is checked before it is mounted. */
const LONG_PATIENCE_MS = 300_000;

/** Why nothing is promoted or moved for now. */
export const SET_BACK =
  'no copy takes over while etcd is older than it was and that is not declared: restore its newest state, or declare the restore ("moor admin restore")';

/** That a copy takes the place of the primary. */
export interface Promotion {
  /** The former primary; left out when it is unknown which it was. */
  readonly from?: string;
  readonly to: VolumeHost;
  readonly epoch: number;
  /** The moment that the copy shows. */
  readonly syncedAt: string;
  /**
   * From that moment until the primary was last known to serve: what was written in between is missing. Left out where the clocks
   * contradict each other.
   */
  readonly secondsLost?: number;
  /** For how long after that a primary that was only cut off may have gone on writing. */
  readonly secondsUnheard?: number;
  readonly still?: HostLoss['still'];
  /** The nodes that could not take over before. */
  readonly refusedBy?: readonly string[];
  /** Nothing is missing: a user asked for it to move, or its node is drained. */
  readonly planned?: 'order' | 'drain';
}

/** The promotion that is due, if the primary is lost for certain and a copy of what was last served is complete. */
export function findPromotion(input: VolumeInput, primaryNode: string | undefined): Promotion | undefined {
  const { volume, status } = input;
  const { epoch, phase } = status ?? {};
  if (volume.class !== 'replicated' || epoch === undefined || input.isSetBack) return undefined;
  if (phase !== 'Degraded' && phase !== 'Promoting' && phase !== 'Failed') return undefined;
  const former = primaryNode === undefined ? undefined : input.findHost(primaryNode);
  const isDeposed = former
    ? isGivenUp(former, findReport(input, former.id)) || isUnable(input, former)
    : primaryNode !== undefined || areAllCopies(input);
  if (!isDeposed) return undefined;
  const tried = phase === 'Promoting' && primaryNode !== undefined ? [primaryNode] : [];
  const refusedBy = phase === 'Promoting' ? [...new Set([...(status?.refusedBy ?? []), ...tried])] : [];
  const [best] = listComplete(input, primaryNode, refusedBy).filter(({ host }) => !host.isOutside);
  if (!best) return undefined;
  return {
    ...(primaryNode !== undefined && { from: primaryNode }),
    to: best.host,
    epoch: nextEpoch(input),
    syncedAt: best.syncedAt,
    ...measureLoss(input, former, best.syncedAt),
    ...(former?.lost && { still: former.lost.still }),
    ...(refusedBy.length > 0 && { refusedBy }),
  };
}

/** What is missing in a copy, as far as it can be known. */
function measureLoss(input: VolumeInput, former: VolumeHost | undefined, syncedAt: string) {
  const [now, copied] = [Date.parse(input.now), Date.parse(syncedAt)];
  if (copied > now) return {};
  const count = (fromMs: number, toMs: number) => Math.max(0, Math.ceil((toMs - fromMs) / 1000));
  // One that was chosen and did not take over has served nothing: the one before it had fallen silent by then.
  if (input.status!.phase !== 'Degraded') return { secondsLost: count(copied, Date.parse(input.status!.since)) };
  const { at = input.now, fencesAfterSeconds } = (former && findReport(input, former.id)) ?? {};
  if (!former?.lost) return { secondsLost: count(copied, former ? Math.min(now, Date.parse(at)) : now) };
  const lastContact = Math.min(now, Date.parse(former.lost.since));
  // A copy of a later moment: it was only cut off, or its clock is ahead and something is missing. Which is unknown.
  if (copied > lastContact) return { secondsUnheard: count(copied, now) };
  // Its agent has stopped what writes, if it has said that it does.
  const until = fencesAfterSeconds === undefined ? now : lastContact + fencesAfterSeconds * 1000 + STOP_MARGIN_MS;
  return { secondsLost: count(copied, lastContact), secondsUnheard: count(lastContact, Math.min(now, until)) };
}

/**
 * Whether nothing on the node writes any more: an administrator says so, or its agent has said that it stops what writes when no
 * server answers its heartbeats, and has had the time to. Any other may only be cut off.
 */
export function isGivenUp({ lost }: VolumeHost, report: VolumeReport | undefined): boolean {
  if (!lost) return false;
  if (lost.by === 'fence') return true;
  const { fencesAfterSeconds } = report ?? {};
  if (fencesAfterSeconds === undefined) return false;
  return lost.silentMs >= fencesAfterSeconds * 1000 + STOP_MARGIN_MS;
}

/** What becomes of the volume when the node of its primary is lost, as far as it is known now. */
export function describeFailover(report: VolumeReport | undefined, copies: readonly VolumeReplica[]): VolumeFailover {
  if (!copies.some(({ state }) => state === 'synced')) return { mode: 'none', because: 'no_copy' };
  const { fencesAfterSeconds, unfenced = 'no_fencer' } = report ?? {};
  if (fencesAfterSeconds === undefined) return { mode: 'manual', because: unfenced };
  return { mode: 'automatic', writesStopAfterSeconds: fencesAfterSeconds + STOP_MARGIN_MS / 1000 };
}

/**
 * Whether a primary that sends heartbeats says for long that its bytes are not there any more, or a copy that was chosen is lost or does not
 * take over. Nothing that mounts the volume was started there: it was not ready.
 */
function isUnable(input: VolumeInput, host: VolumeHost): boolean {
  const { status, ages } = input;
  const { phase, epoch = 0, servedEpoch = 0, refusedBy = [] } = status!;
  const report = findReport(input, host.id);
  if (phase === 'Degraded') {
    // A machine that was away is Degraded since then, and its disk may only be mounted late.
    const isMissing = report?.state === 'failed' && report.isMissing === true && !isSilent(host);
    return isMissing && Math.min(ages.phase, countFailedMs(input, host.id)) >= LONG_PATIENCE_MS;
  }
  if (phase !== 'Promoting' || servedEpoch >= epoch) return false;
  if (host.lost) return true;
  if (report?.state === 'ready' && isOfEpoch(report, status)) return false;
  const patienceMs = PATIENCE_MS * 2 ** Math.min(refusedBy.length, DOUBLINGS_MAX);
  const isRefusing = report?.state === 'failed' && ages.phase >= patienceMs;
  return isRefusing || ages.phase >= Math.max(patienceMs, LONG_PATIENCE_MS);
}

/** Where the primary is unknown: whether for long all that have bytes send heartbeats, and say that they are copies. */
function areAllCopies({ ages, reports, findHost }: VolumeInput): boolean {
  const holders = reports.filter(({ state }) => state !== 'removed');
  const areCopies = holders.every(({ nodeId, role }) => {
    const host = findHost(nodeId);
    return role === 'replica' && (!host || !isSilent(host));
  });
  return areCopies && ages.phase >= LONG_PATIENCE_MS;
}

/**
 * The copies that are complete, on nodes that send heartbeats: the one that shows the latest moment first. Those on nodes that take no work
 * come after them, and those that could not take over come last.
 */
function listComplete(input: VolumeInput, primaryNode: string | undefined, refusedBy: readonly string[]) {
  const { status } = input;
  const served = status?.servedEpoch ?? status?.epoch ?? 0;
  const copies = listKnownCopies(input).filter(({ nodeId }) => nodeId !== primaryNode);
  return copies
    .flatMap(({ nodeId }) => {
      const host = input.findHost(nodeId);
      const syncedAt = findSyncedAt(findReport(input, nodeId), served, status?.lineage);
      const isAble = host && !isSilent(host) && host.status !== 'joining';
      return isAble && syncedAt !== undefined ? [{ host, syncedAt }] : [];
    })
    .sort(
      (a, b) =>
        Number(refusedBy.includes(a.host.id)) - Number(refusedBy.includes(b.host.id)) ||
        Number(a.host.status !== 'ready') - Number(b.host.status !== 'ready') ||
        Date.parse(b.syncedAt) - Date.parse(a.syncedAt) ||
        (a.host.id < b.host.id ? -1 : 1),
    );
}

/** Whether a copy takes the place of the primary, why none does, and what can be done about it. */
export function explainTakeover(input: VolumeInput, primaryNode: string | undefined): string {
  if (input.isSetBack) return SET_BACK;
  const hosts = listKnownCopies(input).flatMap(({ nodeId }) => input.findHost(nodeId) ?? []);
  const others = hosts.filter(({ id }) => id !== primaryNode);
  const complete = listComplete(input, primaryNode, []).map(({ host }) => host);
  const outside = complete.filter(({ isOutside }) => isOutside);
  if (outside.length < complete.length) return 'a copy that is complete takes over';
  const silent = others.filter(isSilent);
  const keepers = others.filter(({ id }) => (findReport(input, id)?.divergent?.length ?? 0) > 0);
  const remedies = [
    outside.length > 0 &&
      `give ${listNames(outside)}, which ${isOne(outside) ? 'breaks' : 'break'} its residency, the labels that it asks for`,
    silent.length > 0 && `bring back ${listNames(silent)}`,
    keepers.length > 0 &&
      `look at what ${listNames(keepers)} ${isOne(keepers) ? 'has' : 'have'} set aside (docs/OPERATIONS.md)`,
  ].filter(remedy => remedy !== false);
  const cause =
    outside.length > 0
      ? 'no other copy is complete and inside its residency'
      : 'no copy on a node that sends heartbeats is complete';
  return remedies.length > 0 ? `${cause}: ${remedies.join(', or ')}` : cause;
}

/**
 * The moment that a copy shows, by the word of its own agent, when it is complete and of the epoch that was last served, or of one since.
 * A copy of another history is not a copy of what was served, though the epoch has the same number.
 */
function findSyncedAt(
  report: VolumeReport | undefined,
  served: number,
  lineage: readonly VolumeTerm[] = [],
): string | undefined {
  if (report?.state !== 'ready' || report.role !== 'replica') return undefined;
  const { syncedEpoch: epoch = -1, syncedGenerationId: generationId } = report;
  return epoch < served || isForeignTerm({ epoch, generationId }, lineage) ? undefined : report.syncedAt;
}

/** Whether what an agent says is about the epoch that its volume is in: agents that copy nothing name none. */
export function isOfEpoch(report: VolumeReport, status: Pick<VolumeStatus, 'epoch' | 'lineage'> | undefined): boolean {
  const { epoch, role } = report;
  if (status?.epoch === undefined || (epoch === undefined && status.epoch === 1)) return true;
  return epoch === status.epoch && role === 'primary' && !isForeignTerm(report, status.lineage ?? []);
}
