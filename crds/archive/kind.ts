import { defineKind } from '../kind/index.js';

/** Old generations of deployments, kept for a rollback. */
export const archiveKind = defineKind({
  kind: 'Archive',
  singular: 'archive',
  plural: 'archives',
  shortNames: [],
  description: 'An earlier generation of a deployment. No release writes it yet.',
  scope: 'tenant',
  isSupported: false,
  range: 'archives/',
  keyParts: ['tenant', 'uid', 'revision'],
  events: [],
  operations: [],
  nameField: 'revision',
  columns: [],
});
