import { formatBytes } from '../../crds/grammar/index.js';
import type { StoredVolume, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';

/** What is told of a volume that does not have the size that is asked for; undefined when it has, as far as its driver can. */
export function judgeSize(
  { sizeBytes }: StoredVolume,
  { targetBytes, capacityBytes, message }: VolumeReport,
  node: string,
): Pick<VolumeStatus, 'reason' | 'message'> | undefined {
  const isLookedAt = targetBytes === undefined || targetBytes === sizeBytes; // agents of earlier releases do not tell
  if (isLookedAt && message === undefined) return undefined;
  const has = capacityBytes === undefined ? '' : ` from ${formatBytes(capacityBytes)}`;
  const change = `its size is to change${has} to ${formatBytes(sizeBytes)}`;
  if (isLookedAt) return { reason: 'volume_refused', message: `${change}, and ${node} cannot do it yet: ${message}` };
  return { reason: 'volume_resizing', message: `${change} on ${node}` };
}

/** How long a change of the size took that has just ended. */
export function measureResize(
  before: VolumeStatus | undefined,
  { reason, capacityBytes }: VolumeStatus,
  now: string,
): Pick<VolumeStatus, 'lastResize'> {
  const from = before?.phase === 'Resizing' ? before.capacityBytes : undefined;
  if (from === undefined || capacityBytes === undefined || from === capacityBytes || reason !== 'volume_ready')
    return {};
  const seconds = Math.max(0, Math.round((Date.parse(now) - Date.parse(before!.since)) / 1000));
  return { lastResize: { bytes: Math.abs(capacityBytes - from), seconds } };
}
