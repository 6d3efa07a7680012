/** A replicated volume whose primary is on node a, with copies on b and c, five minutes after it was made. */
import type { StoredVolume, VolumePhase, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import type { MountedVolume } from '../../pkg/fleet/index.js';
import { decideVolume } from './decide.js';
import type { VolumeHost, VolumeInput } from './input.js';
import { makeVolume } from '../../crds/volume/volume.testing.js';

export const at = (second: number) => new Date(Date.parse('2026-01-31T12:00:00.000Z') + 1000 * second).toISOString();
const NOW = at(300);
/** The time since then, by the clocks of all. */
const countMs = (since: string | undefined, now = NOW) => Date.parse(now) - Date.parse(since ?? now);
/** A leader that has led all the while, where every clock is right and no store was restored. */
export const seenThroughout = (
  now: string,
  { volume, status, reports }: Pick<VolumeInput, 'volume' | 'status' | 'reports'>,
): Pick<VolumeInput, 'ages' | 'drawGenerationId' | 'epochFloor' | 'isSetBack'> => ({
  drawGenerationId: () => 'd'.repeat(16),
  epochFloor: 0,
  isSetBack: false,
  ages: {
    phase: countMs(status?.since, now),
    asked: countMs(volume.move?.at, now),
    moving: countMs(status?.move?.since, now),
    stopped: countMs(status?.move?.stoppedAt, now),
    aborted: countMs(status?.lastMove?.at, now),
    ...Object.fromEntries(reports.map(({ nodeId, at: told }) => [`failed ${nodeId}`, countMs(told, now)])),
    ...Object.fromEntries(
      (status?.copies ?? []).map(({ nodeId, failingSince }) => [`stuck ${nodeId}`, countMs(failingSince, now)]),
    ),
  },
});
export const replicated: StoredVolume = makeVolume(
  { tenant: 't', uid: 'vol_1', generation: 1, createdAt: at(0), updatedAt: at(0), specHash: '' },
  { sizeBytes: 100, replicas: 2 },
);
export const makeStatus = (phase: VolumePhase, change: Partial<VolumeStatus> = {}): VolumeStatus => ({
  id: 'vol_1',
  phase,
  reason: 'volume_ready',
  message: '',
  primaryNode: 'node_a',
  epoch: 1,
  servedEpoch: 1,
  copies: [
    { nodeId: 'node_b', state: 'synced' },
    { nodeId: 'node_c', state: 'synced' },
  ],
  since: at(200),
  ...change,
});
export const still = [{ key: 'node-status/t/a', at: 7 }];
export const lose = (
  name: string,
  by: 'heartbeat_missed' | 'fence' = 'heartbeat_missed',
  since = at(200),
): VolumeHost => ({
  id: `node_${name}`,
  name,
  status: 'failed',
  lost: { by, since, silentMs: countMs(since), still },
});
export const host = (name: string, change: Partial<VolumeHost> = {}): VolumeHost => ({
  id: `node_${name}`,
  name,
  status: 'ready',
  ...change,
});
export const reportReplica = (name: string, second: number, change: Partial<VolumeReport> = {}): VolumeReport => ({
  id: 'vol_1',
  state: 'ready',
  nodeId: `node_${name}`,
  role: 'replica',
  epoch: 1,
  syncedEpoch: 1,
  syncedAt: at(second),
  at: at(second),
  ...change,
});
export const primary = (name: string, epoch: number, change: Partial<VolumeReport> = {}): VolumeReport => ({
  id: 'vol_1',
  state: 'ready',
  nodeId: `node_${name}`,
  role: 'primary',
  epoch,
  at: at(0),
  ...change,
});

export interface Given {
  readonly status: VolumeStatus;
  readonly volume?: Partial<StoredVolume>;
  readonly reports?: readonly VolumeReport[];
  readonly hosts?: readonly VolumeHost[];
  readonly bound?: string;
  readonly mountedWith?: readonly MountedVolume[];
  readonly jobs?: readonly string[];
  /** That the store was restored, and is declared or not. */
  readonly store?: Partial<Pick<VolumeInput, 'epochFloor' | 'isSetBack'>>;
  /** What the leader has seen of it, where that is not as long as the times of records say. */
  readonly ages?: Partial<Record<'phase' | 'asked' | 'moving' | 'stopped' | 'aborted', number>>;
}
export const decide = (given: Given) => {
  const { status: stored, volume: change, reports = [], hosts = [], bound, mountedWith = [], jobs = [] } = given;
  const record = { ...replicated, ...change };
  const seen = seenThroughout(NOW, { volume: record, status: stored, reports });
  const input: VolumeInput = {
    volume: record,
    status: stored,
    reports,
    findHost: id => hosts.find(each => each.id === id),
    chooseNode: () => ({ because: 'none' }),
    chooseReplicas: ({ count, named, taken }) => ({
      nodes: hosts
        .filter(({ id }) => named.includes(id) && !taken.has(id))
        .slice(0, count)
        .map(each => ({ ...each, labels: {}, controlPlane: false, disk: 0, promised: 0 })),
    }),
    explainBound: () => bound,
    listMountedWith: () => mountedWith,
    listJobs: () => jobs,
    ...seen,
    ...given.store,
    ages: { ...seen.ages, ...given.ages },
    now: NOW,
  };
  const decided = decideVolume(input);
  if ('remove' in decided) throw new Error(decided.remove);
  return decided;
};

/** The phase, the primary and the epoch that come next, and what a promotion says is missing at most, until the last heartbeat of its node and after that. */
export const tell = (given: Given): string => {
  const { status: next, promotion } = decide(given);
  const { secondsLost, secondsUnheard } = promotion ?? {};
  const silence = secondsUnheard === undefined ? '' : ` and ${secondsUnheard} s without contact`;
  const told = [next.phase, next.primaryNode, next.epoch, promotion && `after ${secondsLost} s${silence}`];
  return told.filter(each => each !== undefined).join(' ');
};

export const fences = primary('a', 1, { fencesAfterSeconds: 30 });
export const others = [host('b'), host('c')];
