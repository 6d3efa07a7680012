import { listVolumeNodes } from './assigned.js';
import type { DiscardedBytes, StoredVolume, VolumeReport, VolumeStatus } from './volume.js';

/** Whether the node of divergent bytes has said that they are gone. Without an epoch it does not say what it has. */
export function isDiscardFinished({ name, at }: DiscardedBytes, report: VolumeReport | undefined): boolean {
  if (report?.state === 'removed') return true;
  if (report?.epoch === undefined) return false;
  return !report.divergent?.some(each => each.name === name && each.at === at);
}

/** The orders to remove divergent bytes that are still to be carried out: their nodes have the bytes, as far as is known. */
export function listOpenDiscards(
  { discarded = [] }: Pick<StoredVolume, 'discarded'>,
  status: Pick<VolumeStatus, 'primaryNode' | 'copies' | 'leaving'>,
  reports: readonly VolumeReport[],
): readonly DiscardedBytes[] {
  const nodes = listVolumeNodes(status);
  return discarded.filter(each => {
    const report = reports.find(({ nodeId }) => nodeId === each.nodeId);
    return nodes.includes(each.nodeId) && !isDiscardFinished(each, report);
  });
}
