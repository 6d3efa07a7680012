import type { Generation } from '../secret/index.js';
import type { RotationPhase } from './rotation.js';

/**
 * Where the next version comes from: the caller, who has sent values, or the platform. Without a recipe the platform
 * mints every key of the present version anew.
 */
export type RotationMaterial =
  | { readonly by: 'caller' }
  | { readonly by: 'platform'; readonly generation?: Generation };

/** `rotations/<tenant>/<label>`: the phase that was asked for. Written by the API. Holds no material. */
export interface RotationRecord {
  /** Of this rotation, from `stage` to its end. */
  readonly id: string;
  /** `<namespace>/<label>`. */
  readonly path: string;
  readonly phase: RotationPhase | 'abort';
  /** The version that containers had when it began; 0 when there was none. */
  readonly from: number;
  /** The version that is staged. */
  readonly to: number;
  readonly material: RotationMaterial;
  /** The deployment through which it was asked for. */
  readonly deployment: string;
  readonly by: string;
  readonly askedAt: string;
}

/** `rotation-progress/<tenant>/<label>`: how far that phase is. Written by the rotation phaser. */
export interface RotationProgress {
  /** Of the rotation that this is about. */
  readonly id: string;
  readonly phase: RotationPhase | 'abort';
  readonly holds: boolean;
  /** For people, while the phase does not hold. */
  readonly waitsFor?: string;
  /** The staged version was seen as this rotation's own. */
  readonly staged: boolean;
  /** The secretsVersion that each consumer, by uid, was raised to for the new version. */
  readonly raised: Readonly<Record<string, number>>;
  /** The same for the way back. */
  readonly returned: Readonly<Record<string, number>>;
  readonly at: string;
}
