import type { Ownership } from './engine.js';

/** What to do about the container that already stands under a name. */
export type NameClaim = 'adopt' | 'replace' | 'conflict';

/**
 * Decides by the labels of the holder: our own replica is adopted, a leftover of the same slot gives way, and
 * everything else, a newer generation of the slot included, is not ours to touch.
 */
export function claimName(holder: Ownership | undefined, wanted: Ownership): NameClaim {
  if (!holder || holder.nodeId !== wanted.nodeId || holder.tenant !== wanted.tenant) return 'conflict';
  if (holder.replica === wanted.replica) return 'adopt';
  if (holder.deployment !== wanted.deployment || holder.slot !== wanted.slot) return 'conflict';

  const newer = holder.deploymentUid === wanted.deploymentUid && holder.generation > wanted.generation;
  return newer ? 'conflict' : 'replace';
}
