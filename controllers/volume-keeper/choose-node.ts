import { formatBytes, formatCount } from '../../crds/grammar/index.js';
import type { StoredVolume } from '../../crds/volume/index.js';
import { type Candidate, type ResidencyRule, satisfiesResidency } from '../../pkg/placement/index.js';

/** A node of the tenant, as far as volumes depend on it. */
export interface VolumeCandidate extends Pick<Candidate, 'id' | 'name' | 'labels' | 'status' | 'controlPlane'> {
  /** In bytes; 0 when the node does not say. */
  readonly disk: number;
  /** The sizes of the volumes on its disk. */
  readonly promised: number;
}

/** What a volume requires of its node. */
export interface VolumeDemand {
  readonly volume: Pick<StoredVolume, 'type' | 'sizeBytes' | 'primaryNode'>;
  readonly residency?: ResidencyRule | undefined;
  /** The tenant is the platform's own: it may use the node of the control plane. */
  readonly platform: boolean;
}

/** The node that is to have the bytes of a volume, or why none can. */
export type NodeChoice = { readonly node: VolumeCandidate } | { readonly because: string };

/** The node with the most room, then by name: of two equal fleets the same. */
export function chooseNode(nodes: readonly VolumeCandidate[], demand: VolumeDemand): NodeChoice {
  const refused = new Map<string, number>();
  const able = nodes.filter(node => {
    const reason = refuseNode(node, demand);
    if (reason !== undefined) refused.set(reason, (refused.get(reason) ?? 0) + 1);
    return reason === undefined;
  });
  const [best] = able.sort((a, b) => countFree(b) - countFree(a) || (a.name < b.name ? -1 : 1));
  if (best) return { node: best };
  if (nodes.length === 0) return { because: 'the tenant has no nodes: enrol one' };
  const causes = [...refused].sort(([a], [b]) => (a < b ? -1 : 1)).map(([reason, count]) => `${count} ${reason}`);
  return { because: `0 of ${formatCount(nodes.length, 'node')} can hold it: ${causes.join(', ')}` };
}

/** The free part of a disk that is known; of one that is not known, nothing is promised. */
function countFree({ disk, promised }: VolumeCandidate): number {
  return disk === 0 ? -promised : Math.max(0, disk - promised);
}

function refuseNode(node: VolumeCandidate, { volume, residency, platform }: VolumeDemand): string | undefined {
  if (volume.primaryNode !== undefined && volume.primaryNode !== node.id) return 'not the one that it names';
  if (node.status !== 'ready') return 'not ready';
  if (node.controlPlane && !platform) return 'of the control plane';
  if (residency && !satisfiesResidency(residency, node.labels)) return 'outside its residency';
  const isShort = usesDisk(volume) && node.disk > 0 && node.disk - node.promised < volume.sizeBytes;
  return isShort ? `with less than ${formatBytes(volume.sizeBytes)} of disk left` : undefined;
}

/** Whether the size of a volume is taken from the disk of its node. */
export function usesDisk({ type }: Pick<StoredVolume, 'type'>): boolean {
  return type === 'volume';
}
