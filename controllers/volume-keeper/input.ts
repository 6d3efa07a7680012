import type { NodeStatus } from '../../crds/node/index.js';
import {
  isForeignTerm,
  isMadeVolume,
  listVolumeNodes,
  type StoredVolume,
  type VolumeReplica,
  type VolumeReport,
  type VolumeStatus,
} from '../../crds/volume/index.js';
import type { MountedVolume } from '../../pkg/fleet/index.js';
import type { Candidate } from '../../pkg/placement/index.js';
import type { Ages } from '../../pkg/reconcile/index.js';
import type { Guard } from '../../pkg/store/index.js';
import type { NodeChoice, ReplicaChoice, ReplicaDemand } from './choose-node.js';

/** A node that has, or is to have, bytes of a volume, while it is enrolled. */
export interface VolumeHost extends Pick<Candidate, 'id' | 'name' | 'status'> {
  /** It breaks the residency of the volume. */
  readonly isOutside?: boolean;
  /** Set when what is on it counts as lost. */
  readonly lost?: HostLoss | undefined;
}

/** That a node is lost, with the guards that it still is: a primary that has just returned is not deposed. */
export interface HostLoss {
  readonly by: NonNullable<NodeStatus['lost']>;
  /** When it fell silent, by the clock of the process that said so. */
  readonly since: string;
  /** For how long this leader itself has seen it silent. */
  readonly silentMs: number;
  readonly still: readonly Guard[];
}

/**
 * What a volume waits on: its phase in this epoch; that a move was asked for, has begun, and has stopped what mounts the volume; that
 * the last one was aborted; that a node is silent, that the agent of one says that it cannot provide the volume, and that a
 * copy gets no further.
 */
export type VolumeWait =
  | 'phase'
  | 'asked'
  | 'moving'
  | 'stopped'
  | 'aborted'
  | `silent ${string}`
  | `failed ${string}`
  | `stuck ${string}`;

/** Everything that the next status of a volume is derived from. */
export interface VolumeInput {
  readonly volume: StoredVolume;
  /** What is stored now; left out when there is nothing, or it cannot be worked with. */
  readonly status: VolumeStatus | undefined;
  /** What the agents of its nodes said last. */
  readonly reports: readonly VolumeReport[];
  /** The node of that id, if it is enrolled. */
  readonly findHost: (id: string) => VolumeHost | undefined;
  /** Never one of those that could not provide the volume. */
  readonly chooseNode: (refusedBy: ReadonlySet<string>) => NodeChoice;
  readonly chooseReplicas: (demand: ReplicaDemand) => ReplicaChoice;
  /** Why what mounts the volume could not run on a node. */
  readonly explainBound: (nodeId: string) => string | undefined;
  /** The volumes that have to be on the same node, because something mounts both. */
  readonly listMountedWith: () => readonly MountedVolume[];
  /** The jobs that mount it and run. */
  readonly listJobs: () => readonly string[];
  /** What this leader itself has seen: the clocks that wrote the times of records are not compared. */
  readonly ages: Ages<VolumeWait>;
  /** The generation of an epoch that is issued. */
  readonly drawGenerationId: () => string;
  /** Every epoch that is issued is above it: those of a history that a declared restore has ended are below. */
  readonly epochFloor: number;
  /** The store is older than it was, and no restore was declared yet: no epoch is issued, since it may have been before. */
  readonly isSetBack: boolean;
  /** A label for what is recorded now: nothing is decided by it. */
  readonly now: string;
}

/** Whether bytes of the volume exist, or existed. Where the status was lost, what agents say of bytes counts. */
export function isMade({ status, reports }: Pick<VolumeInput, 'status' | 'reports'>): boolean {
  if (status) return isMadeVolume(status);
  const holders = reports.filter(({ state }) => state !== 'removed');
  const isHolder = ({ state, epoch, isMissing }: VolumeReport) =>
    state === 'ready' || epoch !== undefined || isMissing === true;
  return holders.length > 1 || holders.some(isHolder);
}

/**
 * Where the bytes are. A status that was lost or damaged is repaired from what the agents have reported; where they do not say, no node
 * is taken for the one.
 */
export function findPrimary({ status, reports }: Pick<VolumeInput, 'status' | 'reports'>): string | undefined {
  if (status?.primaryNode !== undefined) return status.primaryNode;
  const holders = reports.filter(({ state, role }) => state !== 'removed' && role !== 'replica');
  const [latest] = holders.filter(({ role }) => role === 'primary').toSorted((a, b) => (b.epoch ?? 0) - (a.epoch ?? 0));
  return (latest ?? (holders.length === 1 ? holders[0] : undefined))?.nodeId;
}

/** The copies that are known, those that only their agents know of included. */
export function listKnownCopies(input: VolumeInput): readonly VolumeReplica[] {
  const { status, reports } = input;
  if (status?.primaryNode !== undefined) return status.copies;
  const primaryNode = findPrimary(input);
  const holders = reports.filter(({ state, nodeId }) => state !== 'removed' && nodeId !== primaryNode);
  return holders.map(({ nodeId }) => ({ nodeId, state: 'syncing' }));
}

export function findReport({ reports }: VolumeInput, nodeId: string | undefined): VolumeReport | undefined {
  return reports.find(report => report.nodeId === nodeId);
}

/**
 * The nodes that have acted in a later epoch than the status knows, or in another generation of one that was not served since: the store is
 * older than their disks. What is of another generation than one that was served is set aside. A takeover that has begun goes on
 * without a machine that is off for certain.
 */
export function listAhead({ status, reports, findHost }: VolumeInput): readonly VolumeHost[] {
  const { epoch, servedEpoch = 0, lineage = [] } = status ?? {};
  if (!status || epoch === undefined) return [];
  const nodes = listVolumeNodes(status);
  const isAhead = (report: VolumeReport) => {
    const { epoch: seen = 0 } = report;
    return seen > epoch || (seen === epoch && servedEpoch < epoch && isForeignTerm(report, lineage));
  };
  const later = reports.filter(report => report.state !== 'removed' && isAhead(report));
  const ahead = later.flatMap(({ nodeId }) => (nodes.includes(nodeId) ? (findHost(nodeId) ?? []) : []));
  return status.phase === 'Promoting' ? ahead.filter(({ lost }) => lost?.by !== 'fence') : ahead;
}

/** An epoch that any agent has seen, or that was ever ordered, is never used again; nor is one that a lost history may have issued. */
export function nextEpoch({
  status,
  reports,
  epochFloor,
}: Pick<VolumeInput, 'status' | 'reports' | 'epochFloor'>): number {
  const { epoch = 1, finalFor = 0, lastMove } = status ?? {};
  const seen = reports.flatMap(report => [report.epoch ?? 0, report.final?.epoch ?? 0]);
  return 1 + Math.max(epochFloor, epoch, finalFor, lastMove?.epoch ?? 0, ...seen);
}

/** For how long this leader has seen the agent of a node say that it cannot provide the volume. */
export function countFailedMs({ ages }: VolumeInput, nodeId: string): number {
  return ages[`failed ${nodeId}`] ?? 0;
}

export function isSilent({ status }: Pick<VolumeHost, 'status'>): boolean {
  return status === 'failed' || status === 'unknown' || status === 'unusable';
}

/** Where to look when the agent of a node takes long. */
export function formatAgentHint(name: string): string {
  return `see "moor describe node ${name}" and the log of its agent`;
}

export function describeDelay(name: string, what: 'made it' | 'taken over' = 'made it'): string {
  return `the agent of ${name} has not ${what} yet: wait; if it lasts, ${formatAgentHint(name)}`;
}

/** Whether a message names a single one: its verbs follow. */
export function isOne(named: readonly unknown[]): boolean {
  return named.length === 1;
}

export function listNames(hosts: readonly VolumeHost[]): string {
  return hosts.map(({ name }) => name).join(', ');
}
