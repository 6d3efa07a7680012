import type { VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import { findReport, type HostLoss, isSilent, listKnownCopies, type VolumeHost, type VolumeInput } from './input.js';

/** How long an agent may take to stop what writes to its volumes. */
const STOP_MARGIN_MS = 30_000;
/** How long a node that is heard may fail to provide the volume: a disk may only be mounted late. Doubled with each copy that was tried. */
const PATIENCE_MS = 30_000;
const DOUBLINGS_MAX = 5;

/** That a copy takes the place of the primary. */
export interface Promotion {
  readonly from: string;
  readonly to: VolumeHost;
  readonly epoch: number;
  /** The moment that the copy shows. */
  readonly syncedAt: string;
  /** From that moment until now: what was written since is missing. Left out where the clocks contradict each other. */
  readonly secondsLost?: number;
  readonly still?: HostLoss['still'];
  /** The nodes that could not take over before. */
  readonly refusedBy?: readonly string[];
}

/** The promotion that is due, if the primary is lost for certain and a copy of what was last served is complete. */
export function findPromotion(input: VolumeInput, primaryNode: string): Promotion | undefined {
  const { volume, status, findHost } = input;
  const { epoch, phase } = status ?? {};
  if (volume.class !== 'replicated' || epoch === undefined) return undefined;
  if (phase !== 'Degraded' && phase !== 'Promoting') return undefined;
  const former = findHost(primaryNode);
  if (former && !isGivenUp(former, findReport(input, primaryNode), input.now) && !isUnable(input, former)) {
    return undefined;
  }
  const refusedBy = phase === 'Promoting' ? [...new Set([...(status?.refusedBy ?? []), primaryNode])] : [];
  const [best] = listPromotable(input, primaryNode, refusedBy);
  if (!best) return undefined;
  // A primary that was only cut off has gone on writing until it was given up.
  const secondsLost = Math.ceil((Date.parse(input.now) - Date.parse(best.syncedAt)) / 1000);
  return {
    from: primaryNode,
    to: best.host,
    // An epoch that any agent has seen is never used again.
    epoch: 1 + Math.max(epoch, ...input.reports.map(report => report.epoch ?? 0)),
    syncedAt: best.syncedAt,
    ...(secondsLost >= 0 && { secondsLost }),
    ...(former?.lost && { still: former.lost.still }),
    ...(refusedBy.length > 0 && { refusedBy }),
  };
}

/**
 * Whether nothing on the node writes any more: an administrator says so, or its agent has said that it stops what writes when it is
 * not heard, and has had the time to. Any other may only be cut off.
 */
function isGivenUp({ lost }: VolumeHost, report: VolumeReport | undefined, now: string): boolean {
  if (!lost) return false;
  if (lost.by === 'fence') return true;
  const { fencesAfterSeconds } = report ?? {};
  if (fencesAfterSeconds === undefined) return false;
  return Date.parse(now) - Date.parse(lost.since) >= fencesAfterSeconds * 1000 + STOP_MARGIN_MS;
}

/**
 * Whether a node that is heard says for long that it cannot take over, or that the bytes are not there any more. Nothing was started
 * there since: the volume was not ready.
 */
function isUnable(input: VolumeInput, host: VolumeHost): boolean {
  const { status, now } = input;
  const { phase, epoch = 0, servedEpoch = 0, refusedBy = [] } = status ?? {};
  const report = findReport(input, host.id);
  const isWithout = phase === 'Degraded' && report?.isMissing === true && !isSilent(host);
  const isRefusing = phase === 'Promoting' && servedEpoch < epoch;
  if (report?.state !== 'failed' || !(isWithout || isRefusing)) return false;
  const patienceMs = PATIENCE_MS * 2 ** Math.min(refusedBy.length, DOUBLINGS_MAX);
  return Date.parse(now) - Date.parse(status!.since) >= patienceMs;
}

/** The copies that may be promoted, the one that shows the latest moment first; those that could not take over come last. */
function listPromotable(input: VolumeInput, primaryNode: string, refusedBy: readonly string[]) {
  const { status } = input;
  const served = status?.servedEpoch ?? status?.epoch ?? 0;
  const copies = listKnownCopies(input).filter(({ nodeId }) => nodeId !== primaryNode);
  return copies
    .flatMap(({ nodeId }) => {
      const host = input.findHost(nodeId);
      const syncedAt = findSyncedAt(findReport(input, nodeId), served);
      const isAble = host && !isSilent(host) && !host.isOutside && host.status !== 'joining';
      return isAble && syncedAt !== undefined ? [{ host, syncedAt }] : [];
    })
    .sort(
      (a, b) =>
        Number(refusedBy.includes(a.host.id)) - Number(refusedBy.includes(b.host.id)) ||
        Date.parse(b.syncedAt) - Date.parse(a.syncedAt) ||
        (a.host.id < b.host.id ? -1 : 1),
    );
}

/** The moment that a copy shows, by the word of its own agent, when it is complete and of the epoch that was last served. */
function findSyncedAt(report: VolumeReport | undefined, served: number): string | undefined {
  if (report?.state !== 'ready' || report.role !== 'replica' || (report.syncedEpoch ?? -1) < served) return undefined;
  return report.syncedAt;
}

/** Whether what an agent says is about the epoch that its volume is in: agents that copy nothing name none. */
export function isOfEpoch({ epoch, role }: VolumeReport, status: Pick<VolumeStatus, 'epoch'> | undefined): boolean {
  if (status?.epoch === undefined || (epoch === undefined && status.epoch === 1)) return true;
  return epoch === status.epoch && role === 'primary';
}
