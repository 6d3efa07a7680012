import { formatBytes } from '../../crds/grammar/index.js';
import type { StoredVolume, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';

/**
 * The message of a volume that does not have the size that is asked for; undefined when it has, as far as its driver can. One that cannot
 * have it is as usable as before.
 */
export function judgeSize(
  { sizeBytes }: StoredVolume,
  { targetBytes, capacityBytes, message }: VolumeReport,
  node: string,
): Pick<VolumeStatus, 'phase' | 'reason' | 'message'> | undefined {
  const isLookedAt = targetBytes === undefined || targetBytes === sizeBytes; // a damaged report holds up nothing
  if (isLookedAt && message === undefined) return undefined;
  const has = capacityBytes === undefined ? '' : ` from ${formatBytes(capacityBytes)}`;
  const change = `its size is to change${has} to ${formatBytes(sizeBytes)}`;
  if (!isLookedAt) return { phase: 'Resizing', reason: 'volume_resizing', message: `${change} on ${node}` };
  return { phase: 'Ready', reason: 'volume_refused', message: `${change}, and ${node} cannot do it yet: ${message}` };
}

/** Of a change of the size: what it began with while it is under way, and what it was once it has ended. */
export function followResize(
  before: VolumeStatus | undefined,
  { phase, reason, capacityBytes, primaryNode }: VolumeStatus,
  now: string,
): Pick<VolumeStatus, 'lastResize' | 'resizeFrom'> {
  const from = before?.primaryNode === primaryNode ? (before?.resizeFrom ?? before?.capacityBytes) : undefined;
  const known = before?.lastResize && { lastResize: before.lastResize };
  if (phase === 'Resizing') return { ...known, ...(from !== undefined && { resizeFrom: from }) };
  const isChanged = from !== undefined && capacityBytes !== undefined && from !== capacityBytes;
  if (!before || !isChanged || phase !== 'Ready' || reason !== 'volume_ready') return { ...known };
  const seconds = Math.max(0, Math.round((Date.parse(now) - Date.parse(before.since)) / 1000));
  const lastResize = {
    bytes: Math.abs(capacityBytes - from),
    ...(capacityBytes < from && { isShrink: true as const }),
    ...(before.phase === 'Resizing' && { seconds }),
  };
  return { lastResize };
}
