import { formatBytes, formatCount } from '../../crds/grammar/index.js';
import type { StoredVolume } from '../../crds/volume/index.js';
import { usesDisk } from '../../pkg/fleet/index.js';
import { type Candidate, type ResidencyRule, satisfiesResidency } from '../../pkg/placement/index.js';

/** A node of the tenant, as far as volumes depend on it. */
export interface VolumeCandidate
  extends Pick<Candidate, 'id' | 'name' | 'labels' | 'status' | 'controlPlane' | 'lacks'> {
  /** In bytes; 0 when the node does not say. */
  readonly disk: number;
  /** The sizes of the volumes on its disk. */
  readonly promised: number;
  /** Why it takes no copies of the volume from other nodes. */
  readonly noCopies?: string | undefined;
}

/** What a volume requires of its nodes. */
export interface VolumeDemand {
  readonly volume: Pick<StoredVolume, 'type' | 'sizeBytes' | 'primaryNode'>;
  readonly residency?: ResidencyRule | undefined;
  /** The tenant is the platform's own: it may use the node of the control plane. */
  readonly platform: boolean;
}

/** The node that is to have the bytes of a volume, or why none can. */
export type NodeChoice = { readonly node: VolumeCandidate } | { readonly because: string };

/** The nodes that are to have copies, and why they are fewer than were asked for. */
export interface ReplicaChoice {
  readonly nodes: readonly VolumeCandidate[];
  readonly because?: string;
}

/** What was decided of the copies already. */
export interface ReplicaDemand {
  /** How many more are wanted. */
  readonly count: number;
  /** The nodes that were asked for: each is waited for, and no other takes its place. */
  readonly named: readonly string[];
  /** The nodes that have bytes of the volume, or are to have none. */
  readonly taken: ReadonlySet<string>;
}

/** The node with the most room, then by name: of two equal fleets the same. Those that refused the volume are passed over. */
export function chooseNode(
  nodes: readonly VolumeCandidate[],
  demand: VolumeDemand,
  refusedBy: ReadonlySet<string> = new Set(),
): NodeChoice {
  const { volume } = demand;
  const explain = (node: VolumeCandidate) => {
    if (volume.primaryNode !== undefined && volume.primaryNode !== node.id) return 'not the one that it names';
    return refusedBy.has(node.id) ? 'unable to provide it' : refuseNode(node, demand);
  };
  const { able, because } = sift(nodes, explain);
  return able[0] ? { node: able[0] } : { because };
}

/** The nodes for copies: those that were asked for first, then those with the most room. */
export function chooseReplicaNodes(
  nodes: readonly VolumeCandidate[],
  demand: VolumeDemand,
  { count, named, taken }: ReplicaDemand,
): ReplicaChoice {
  if (count <= 0) return { nodes: [] };
  const { able, because } = sift(nodes, node => {
    if (taken.has(node.id)) return 'in use for it already';
    return node.noCopies ?? refuseNode(node, demand);
  });
  const awaited = named.filter(id => !taken.has(id) && nodes.some(node => node.id === id)).slice(0, count);
  const asked = able.filter(({ id }) => awaited.includes(id));
  const others = able.filter(({ id }) => !awaited.includes(id)).slice(0, count - awaited.length);
  const chosen = [...asked, ...others];
  return { nodes: chosen, ...(chosen.length < count && { because }) };
}

/** Those that are not refused, the one with the most room first, and in words why the others are. */
function sift(nodes: readonly VolumeCandidate[], explain: (node: VolumeCandidate) => string | undefined) {
  const refused = new Map<string, number>();
  const able = nodes.filter(node => {
    const reason = explain(node);
    if (reason !== undefined) refused.set(reason, (refused.get(reason) ?? 0) + 1);
    return reason === undefined;
  });
  able.sort((a, b) => countFree(b) - countFree(a) || (a.name < b.name ? -1 : 1));
  const causes = [...refused].sort(([a], [b]) => (a < b ? -1 : 1)).map(([reason, count]) => `${count} ${reason}`);
  const why = causes.length > 0 ? `: ${causes.join(', ')}` : '';
  const because =
    nodes.length === 0
      ? 'the tenant has no nodes: enrol one'
      : `${able.length} of ${formatCount(nodes.length, 'node')} can hold it${why}`;
  return { able, because };
}

/** The free part of a disk that is known; of one that is not known, nothing is promised. */
function countFree({ disk, promised }: VolumeCandidate): number {
  return disk === 0 ? -promised : Math.max(0, disk - promised);
}

function refuseNode(node: VolumeCandidate, demand: VolumeDemand): string | undefined {
  const { volume, platform } = demand;
  if (node.status !== 'ready') return 'not ready';
  if (node.controlPlane && !platform) return 'of the control plane';
  if (volume.type !== 'tmpfs' && node.lacks?.includes('volumes')) return 'whose engine keeps no volumes';
  if (!isInside(node, demand)) return 'outside its residency';
  const isShort = usesDisk(volume) && node.disk > 0 && node.disk - node.promised < volume.sizeBytes;
  return isShort ? `with less than ${formatBytes(volume.sizeBytes)} of disk left` : undefined;
}

/** Whether bytes of the volume may be on the node. */
export function isInside({ labels }: Pick<VolumeCandidate, 'labels'>, { residency }: VolumeDemand): boolean {
  return !residency || satisfiesResidency(residency, labels);
}
