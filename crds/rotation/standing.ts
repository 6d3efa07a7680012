import type { RotationRecord, RotationProgress } from './records.js';
import type { RotationFacts } from './rotation.js';

type Standing = Pick<RotationFacts, 'state' | 'waitsFor'>;

/** Whether a rotation is under way: from `stage` until it has retired the old version or has been turned back. */
export function isRotationOpen({ state, waitsFor }: Standing): boolean {
  return waitsFor !== undefined || (state !== 'idle' && state !== 'retire');
}

const NOT_LOOKED_AT = 'the rotation phaser has taken it up';

/**
 * Where a rotation stands, from what was asked for and how far that is. One that was turned back is idle again; one that
 * has ended well stays at `retire`, so that its last step may be repeated.
 */
export function readRotationState(asked: RotationRecord | undefined, progress: RotationProgress | undefined): Standing {
  if (!asked) return { state: 'idle' };
  const own = progress?.id === asked.id && progress.phase === asked.phase ? progress : undefined;
  const state = asked.phase === 'abort' ? 'idle' : asked.phase;
  return own?.holds ? { state } : { state, waitsFor: own?.waitsFor ?? NOT_LOOKED_AT };
}
