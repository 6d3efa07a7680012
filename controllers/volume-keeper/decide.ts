import {
  isMadeVolume,
  stepTowards,
  type StoredVolume,
  type VolumeReport,
  type VolumeStatus,
} from '../../crds/volume/index.js';
import type { Candidate } from '../../pkg/placement/index.js';
import type { NodeChoice } from './choose-node.js';

/** The node that a volume is on, while it is enrolled. */
export type VolumeHost = Pick<Candidate, 'id' | 'name' | 'status'>;

/** Everything that the next status of a volume is derived from. */
export interface VolumeInput {
  readonly volume: StoredVolume;
  /** What is stored now; left out when there is nothing, or it cannot be worked with. */
  readonly status: VolumeStatus | undefined;
  /** What the agents of its nodes said last. */
  readonly reports: readonly VolumeReport[];
  /** The node of that id, if it is enrolled. */
  readonly findHost: (id: string) => VolumeHost | undefined;
  readonly chooseNode: () => NodeChoice;
  readonly now: string;
}

/** What to write: the next status, or that the record goes, with what became of the bytes. */
export type VolumeDecision = { readonly status: VolumeStatus } | { readonly remove: string };

type Verdict = Pick<VolumeStatus, 'phase' | 'reason' | 'message'> & { readonly primaryNode?: string | undefined };

/** The status that comes next, one move of the table at a time; the stored one itself when nothing has changed. */
export function decideVolume(input: VolumeInput): VolumeDecision {
  const { volume, status, now } = input;
  const primaryNode = findPrimary(input);
  const verdict =
    volume.metadata.deletedAt === undefined ? judge(input, primaryNode) : judgeDeletion(input, primaryNode);
  if ('remove' in verdict) return verdict;
  const from = status?.phase ?? 'Pending';
  const own = findReport(input, verdict.primaryNode);
  const next: VolumeStatus = {
    id: volume.id,
    phase: stepTowards(from, verdict.phase),
    reason: verdict.reason,
    message: verdict.message,
    ...(verdict.primaryNode !== undefined && { primaryNode: verdict.primaryNode }),
    copies: [],
    ...(own?.driver !== undefined && { driver: own.driver }),
    ...(own?.limits !== undefined && { limits: own.limits }),
    ...(own?.usedBytes !== undefined && { usedBytes: own.usedBytes, measuredAt: own.at }),
    since: status?.since ?? now,
  };
  if (status && status.phase === next.phase) return { status: isSame(status, next) ? status : next };
  return { status: { ...next, since: now } };
}

/** Where the bytes are. A status that was lost or damaged is made good by what the agent has reported. */
function findPrimary({ status, reports }: VolumeInput): string | undefined {
  return status?.primaryNode ?? reports.find(({ state }) => state !== 'removed')?.nodeId;
}

function findReport({ reports }: VolumeInput, nodeId: string | undefined): VolumeReport | undefined {
  return reports.find(report => report.nodeId === nodeId);
}

function judgeDeletion(input: VolumeInput, primaryNode: string | undefined): Verdict | { remove: string } {
  if (primaryNode === undefined) return { remove: 'it had no bytes yet' };
  const host = input.findHost(primaryNode);
  if (!host) return { remove: `its bytes are left on ${primaryNode}, which is no longer enrolled` };
  const own = findReport(input, primaryNode);
  if (own?.state === 'removed') return { remove: `its bytes were removed from ${host.name}` };
  const { name } = host;
  if (isSilent(host)) {
    const message = `its bytes are on ${name}, which is not heard: they are removed when it is back; delete the node if it never comes back`;
    return { phase: 'Deleting', reason: 'volume_node_silent', message, primaryNode };
  }
  const failure = own?.state === 'failed' ? own.message : undefined;
  if (failure !== undefined) return { phase: 'Deleting', reason: 'volume_refused', message: failure, primaryNode };
  return {
    phase: 'Deleting',
    reason: 'volume_deleting',
    message: `its bytes are being removed from ${name}`,
    primaryNode,
  };
}

function judge(input: VolumeInput, primaryNode: string | undefined): Verdict {
  const { volume, status, findHost } = input;
  if (volume.class === 'object') {
    const message = 'this release keeps no bytes for volumes of class object, and mounts none';
    return { phase: 'Pending', reason: 'volume_class_not_wired', message };
  }
  const isMade = isMadeVolume(status);
  const host = primaryNode === undefined ? undefined : findHost(primaryNode);
  if (primaryNode === undefined || (!host && !isMade)) return place(input);
  if (!host) {
    const message = 'the node that had its bytes is no longer enrolled, and there is no other copy: delete the volume';
    return { phase: 'Degraded', reason: 'volume_node_gone', message, primaryNode };
  }
  const { name } = host;
  if (isSilent(host)) {
    const message = `its bytes are on ${name}, which is not heard: check the machine and its agent`;
    return { phase: isMade ? 'Degraded' : 'Materializing', reason: 'volume_node_silent', message, primaryNode };
  }
  const own = findReport(input, primaryNode);
  if (own?.state === 'ready') {
    return { phase: 'Ready', reason: 'volume_ready', message: `it is on ${name}`, primaryNode };
  }
  if (own?.state === 'failed') {
    const message = own.message ?? `the agent of ${name} cannot provide it`;
    return { phase: isMade ? 'Degraded' : 'Materializing', reason: 'volume_refused', message, primaryNode };
  }
  const message = `the agent of ${name} has not made it yet`;
  return { phase: isMade ? 'Degraded' : 'Materializing', reason: 'volume_materializing', message, primaryNode };
}

function place({ chooseNode }: VolumeInput): Verdict {
  const choice = chooseNode();
  if ('because' in choice) return { phase: 'Pending', reason: 'volume_waiting', message: choice.because };
  const { id, name } = choice.node;
  const message = `the agent of ${name} has not made it yet`;
  return { phase: 'Materializing', reason: 'volume_materializing', message, primaryNode: id };
}

function isSilent({ status }: VolumeHost): boolean {
  return status === 'failed' || status === 'unknown' || status === 'unusable';
}

function isSame(before: VolumeStatus, next: VolumeStatus): boolean {
  const told = ['phase', 'reason', 'message', 'primaryNode', 'driver', 'limits', 'usedBytes', 'measuredAt'] as const;
  return told.every(member => before[member] === next[member]);
}
