import { formatBytes, formatCount } from '../../crds/grammar/index.js';
import type { Regions } from '../../crds/residency/index.js';
import { type Recommendation, recommendationPriorities } from '../../crds/recommendation/index.js';
import {
  isMadeVolume,
  type StoredVolume,
  VOLUME_REPLICAS_MAX,
  VOLUME_SIZE_MAX,
  type VolumePhase,
  type VolumeReplica,
} from '../../crds/volume/index.js';
import { satisfiesResidency, toResidencyRule } from '../placement/index.js';

/** A volume, as far as recommendations depend on it. */
export interface VolumeState {
  readonly volume: Pick<
    StoredVolume,
    'id' | 'name' | 'class' | 'sizeBytes' | 'replicas' | 'excludedNodes' | 'residency'
  >;
  readonly phase: VolumePhase;
  /** Its node has looked at the size that is asked for, and cannot give it that. */
  readonly isRefused?: boolean;
  readonly primaryNode?: string | undefined;
  readonly copies: readonly VolumeReplica[];
  /** What keeps its bytes, and so each of its copies. */
  readonly driver?: string | undefined;
  readonly usedBytes?: number | undefined;
  readonly measuredAt?: string | undefined;
  readonly capacityBytes?: number | undefined;
  /** The largest size that its nodes have room for. */
  readonly roomBytes?: number | undefined;
  /** Since when it uses a fifth of its size or less. */
  readonly lowSince?: string | undefined;
  /** The revision of what was measured. */
  readonly revision: number;
}

/** A node of the tenant, as far as recommendations depend on it. */
export interface NodeState {
  readonly name: string;
  readonly isImpaired: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** It can have copies of what is on other nodes. */
  readonly takesCopies: boolean;
  /** What keeps its volumes, as far as that is known. */
  readonly volumeDriver?: string | undefined;
}

/** What all volumes of a tenant have in common. */
export interface TenantState {
  /** Its nodes, by id. */
  readonly nodes: ReadonlyMap<string, NodeState>;
  readonly regions: Regions;
  /** How much larger its volumes may become together; undefined without a quota. */
  readonly quotaLeft: number | undefined;
  readonly now: number;
}

const HIGH_PERCENT = 80;
const CRITICAL_PERCENT = 90;
const LOW_PERCENT = 20;
/** How full a volume is to be after a change of its size. */
const AIM_PERCENT = 60;
/** How long a volume must be nearly empty before that counts. */
export const LOW_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;
/** Sizes that are recommended are multiples of this, and no smaller than any driver shrinks to. */
const STEP = 64 * 2 ** 20;
const SMALLEST = 256 * 2 ** 20;

/** What holds now, the most urgent first. */
export function recommend(volumes: readonly VolumeState[], tenant: TenantState): readonly Recommendation[] {
  const rank = ({ priority }: Recommendation) => recommendationPriorities.indexOf(priority);
  const order = ({ volume_name: name, id }: Recommendation) => `${name} ${id}`;
  return volumes
    .filter(({ volume, phase }) => volume.class !== 'object' && phase !== 'Deleting' && isMadeVolume({ phase }))
    .flatMap(state => [...adviseCopies(state, tenant), ...adviseSize(state, tenant), ...adviseNodes(state, tenant)])
    .toSorted((a, b) => rank(a) - rank(b) || (order(a) < order(b) ? -1 : 1));
}

/** Since when a volume has been nearly empty, as far as that was noticed; undefined while it is not. */
export function findLowSince(
  { usedBytes, capacityBytes, volume }: VolumeState,
  known: string | undefined,
  now: number,
): string | undefined {
  const isLow = usedBytes !== undefined && usedBytes * 100 <= (capacityBytes ?? volume.sizeBytes) * LOW_PERCENT;
  return isLow ? (known ?? new Date(now).toISOString()) : undefined;
}

/** `rec_<volume>_<condition>`: the same while the condition holds, and it names its volume also when that is gone. */
function toId({ id }: VolumeState['volume'], condition: string): string {
  return `rec_${id.slice('vol_'.length)}_${condition}`;
}

function about({ volume, revision }: VolumeState, condition: string) {
  return { id: toId(volume, condition), volume_id: volume.id, volume_name: volume.name, revision: String(revision) };
}

const withReason = (reason: string | undefined) =>
  reason === undefined ? { applicable: true } : { applicable: false, reason };

function adviseCopies(state: VolumeState, tenant: TenantState): readonly Recommendation[] {
  const { nodes, now } = tenant;
  const { volume, copies, primaryNode } = state;
  const wanted = volume.replicas ?? 0;
  const count = (which: VolumeReplica['state']) => copies.filter(copy => copy.state === which).length;
  const [synced, syncing, lost] = [count('synced'), count('syncing'), count('lost')];
  if (volume.class !== 'replicated' || (synced > 0 && synced >= wanted)) return [];
  // While one is alive or on its way, more would never be enough: they would be asked for again as long as one is lost.
  const replaced = synced + syncing === 0 ? lost : 0;
  const target = Math.min(Math.max(1, wanted) + replaced, VOLUME_REPLICAS_MAX);
  const node = primaryNode === undefined ? 'its node' : (nodes.get(primaryNode)?.name ?? primaryNode);
  const everything = copies.length === 0 ? 'everything' : 'everything since the last copy';
  const risk = synced === 0 ? `: if ${node} is lost, so is ${everything}` : '';
  const sum =
    replaced > 0
      ? `; ${Math.max(1, wanted)} wanted + ${lost} lost = ${target} replicas would replace what is lost`
      : '';
  const usable = countUsable(state, tenant);
  const copied = `${synced} of the ${formatCount(wanted, 'replica')} of volume ${volume.name} are synced (${syncing} syncing, ${lost} lost)`;
  return [
    {
      ...about(state, 'copies'),
      ...withReason(refuseCopies({ wanted, synced, syncing, lost, target, usable })),
      type: 'replication',
      priority: synced === 0 ? 'critical' : 'high',
      parameters: { action: 'set_replicas', target_replicas: target },
      measurement: { at: new Date(now).toISOString(), syncedReplicas: synced, wantedReplicas: wanted },
      message: `${wanted + copies.length === 0 ? `volume ${volume.name} has no replica at all` : copied}${risk}${sum}`,
    },
  ];
}

/** The nodes that can have bytes of a volume, or a copy of them, whatever they are busy with now. */
function countUsable({ volume, primaryNode, copies, driver }: VolumeState, { nodes, regions }: TenantState): number {
  const { excludedNodes = [] } = volume;
  const residency = toResidencyRule(volume.residency, regions);
  const held = new Set(copies.map(({ nodeId }) => nodeId));
  const isInside = ({ labels }: NodeState) => !residency || satisfiesResidency(residency, labels);
  const isAlike = ({ volumeDriver = driver }: NodeState) => driver === undefined || volumeDriver === driver;
  const isTaker = (id: string, node: NodeState) => (node.takesCopies || held.has(id)) && isAlike(node);
  const isUsable = ([id, node]: readonly [string, NodeState]) =>
    id === primaryNode || (!excludedNodes.includes(id) && isTaker(id, node) && isInside(node));
  return [...nodes].filter(isUsable).length;
}

type CopyCounts = Readonly<Record<'wanted' | 'synced' | 'syncing' | 'lost' | 'target' | 'usable', number>>;

/** Why more replicas would not help, or cannot be had. */
function refuseCopies({ wanted, synced, syncing, lost, target, usable }: CopyCounts): string | undefined {
  if (target > wanted) {
    if (usable > target) return undefined;
    return `${formatCount(target, 'replica')} ${target === 1 ? 'needs' : 'need'} ${target + 1} nodes, and ${usable} can be used: enrol another one`;
  }
  if (syncing > 0 && synced + syncing >= wanted) return 'the copies are being made: wait until they are synced';
  if (lost > 0) return 'a copy is made beside the lost one by itself after 10 minutes: repair or delete its node';
  return 'as many replicas as needed are asked for, and no node can hold them: enrol another one';
}

function adviseSize(state: VolumeState, tenant: TenantState): readonly Recommendation[] {
  const { volume, usedBytes, measuredAt, lowSince } = state;
  const has = state.capacityBytes ?? volume.sizeBytes;
  if (usedBytes === undefined || measuredAt === undefined || has === 0) return [];
  const percent = Math.floor((usedBytes * 100) / has);
  const aim = Math.ceil((usedBytes * 100) / AIM_PERCENT / STEP) * STEP;
  const measurement = { at: measuredAt, usedBytes, sizeBytes: has };
  const then = (size: number) =>
    `${formatBytes(usedBytes)} ÷ ${formatBytes(size)} = ${Math.ceil((usedBytes * 100) / size)} %`;

  if (percent >= HIGH_PERCENT) {
    const target = Math.min(Math.max(aim, volume.sizeBytes + STEP), VOLUME_SIZE_MAX);
    return [
      {
        ...about(state, 'grow'),
        ...withReason(refuseSize(state, target, tenant)),
        type: 'capacity',
        priority: percent >= CRITICAL_PERCENT ? 'critical' : 'high',
        parameters: { action: 'resize', target_size_bytes: target },
        measurement,
        message: `volume ${volume.name} holds ${formatBytes(usedBytes)} of ${formatBytes(has)}, ${percent} %: with ${formatBytes(target)} it would be ${then(target)}`,
      },
    ];
  }
  const lowMs = lowSince === undefined ? 0 : tenant.now - Date.parse(lowSince);
  const target = Math.max(aim, SMALLEST);
  if (percent > LOW_PERCENT || lowMs < LOW_MS || target >= volume.sizeBytes) return [];
  return [
    {
      ...about(state, 'shrink'),
      ...withReason(refuseSize(state, target, tenant)),
      type: 'capacity',
      priority: 'low',
      parameters: { action: 'resize', target_size_bytes: target },
      measurement,
      message: `volume ${volume.name} holds ${formatBytes(usedBytes)} of ${formatBytes(has)}, ${percent} %, and no more than ${LOW_PERCENT} % for ${formatCount(Math.floor(lowMs / HOUR_MS), 'hour')}: with ${formatBytes(target)} it would be ${then(target)}`,
    },
  ];
}

/** Why a size cannot be had now. */
function refuseSize(
  { volume, phase, isRefused, capacityBytes = volume.sizeBytes, roomBytes }: VolumeState,
  target: number,
  { quotaLeft }: TenantState,
): string | undefined {
  const more = target - volume.sizeBytes;
  if (isRefused && capacityBytes < volume.sizeBytes) {
    return `its node cannot give it the ${formatBytes(volume.sizeBytes)} that are asked for: make room there, or set the size back to ${formatBytes(capacityBytes)}`;
  }
  if (phase === 'Resizing' || capacityBytes < volume.sizeBytes) {
    return 'its size is being changed: wait until that has ended';
  }
  if (phase !== 'Ready') return `its phase is ${phase}: a size is changed while it is Ready`;
  if (more <= 0) return undefined;
  if (quotaLeft !== undefined && more > quotaLeft) {
    return `${formatBytes(more)} more are needed, and the quota of volumeBytes leaves ${formatBytes(Math.max(0, quotaLeft))}`;
  }
  if (roomBytes === undefined || target <= roomBytes) return undefined;
  return `its node has room for ${formatBytes(roomBytes)}: move or delete something there`;
}

/** Copies, and bytes that have none, on nodes that cannot be relied on. */
function adviseNodes(state: VolumeState, { nodes, now }: TenantState): readonly Recommendation[] {
  const { volume, primaryNode, copies } = state;
  const held = new Set([primaryNode, ...copies.map(({ nodeId }) => nodeId)]);
  return [...held].flatMap((id): readonly Recommendation[] => {
    const node = id === undefined ? undefined : nodes.get(id);
    if (id === undefined || !node?.isImpaired) return [];
    const [what, stands] = id === primaryNode ? ['the bytes', 'are'] : ['a copy', 'is'];
    return [
      {
        ...about(state, `node_${id.replace(/^node_/, '')}`),
        ...withReason(`a person has to repair or replace ${node.name}`),
        type: 'placement',
        priority: 'high',
        parameters: {},
        measurement: { at: new Date(now).toISOString(), nodeId: id },
        message: `${what} of volume ${volume.name} ${stands} on ${node.name}, which is impaired: look at the machine and its agent`,
      },
    ];
  });
}
