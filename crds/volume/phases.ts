/** Where a volume is in its life. */
export const volumePhases = [
  'Pending',
  'Materializing',
  'Ready',
  'Degraded',
  'Promoting',
  'Resizing',
  'Failed',
  'Deleting',
] as const;

export type VolumePhase = (typeof volumePhases)[number];

/** Which moves exist. Deletion may be asked for in every phase, and nothing leads out of it but the end. */
const MOVES: Readonly<Record<VolumePhase, readonly VolumePhase[]>> = {
  Pending: ['Materializing', 'Deleting'],
  Materializing: ['Ready', 'Deleting'],
  Ready: ['Degraded', 'Resizing', 'Deleting'],
  Degraded: ['Ready', 'Promoting', 'Deleting'],
  Promoting: ['Ready', 'Failed', 'Deleting'],
  Resizing: ['Ready', 'Deleting'],
  Failed: ['Promoting', 'Deleting'],
  Deleting: [],
};

/** The phase that comes next on the shortest way to another; the phase itself when there is no way, or none is needed. */
export function stepTowards(from: VolumePhase, to: VolumePhase): VolumePhase {
  const first = new Map<VolumePhase, VolumePhase>(MOVES[from].map(next => [next, next]));
  for (const [reached, by] of first) {
    if (reached === to) return by;
    for (const next of MOVES[reached]) if (next !== from && !first.has(next)) first.set(next, by);
  }
  return from;
}
