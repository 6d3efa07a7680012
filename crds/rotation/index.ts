/**
 * Rotation: how a credential is replaced without a moment at which none is valid.
 *
 * `stage → promote → verify → retire`, then `idle` again. A phase is accepted only as the next one, and only once the
 * one before it holds; the present phase asked for again is no fault and no change.
 *
 *     const checked = checkRotation(document, { state: 'stage', labels: ['web-db'], external: [] }, limits);
 *
 * What was asked for and how far it is are two records with two writers; `readRotationState` reads them together.
 *
 * Doing the work of a phase, and saying when it holds, is the rotation phaser's.
 *
 * @module
 */
export type {
  RotationFacts,
  RotationMaterial,
  RotationProgress,
  RotationRecord,
  RotationState,
  RotationStep,
} from './rotation.js';
export {
  checkRotation,
  getNextPhase,
  isRotationOpen,
  readRotationState,
  rejectOvertakenStep,
  ROTATION_PHASER,
  rotationPhases,
} from './rotation.js';
export { rotationKind } from './kind.js';
