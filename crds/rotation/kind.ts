import { defineKind } from '../kind/index.js';
import { rotationSchema } from './rotation.js';

/** The replacement of a credential, in phases. */
export const rotationKind = defineKind({
  kind: 'Rotation',
  singular: 'rotation',
  plural: 'rotations',
  shortNames: [],
  description: 'The replacement of a credential in phases, without a moment at which none is valid.',
  scope: 'tenant',
  range: 'rotations/',
  keyParts: ['tenant', 'label'],
  statusRange: 'rotation-progress/',
  requests: { RotationRequest: rotationSchema },
  events: [],
  operations: [],
  nameField: 'secret',
  columns: [],
});
