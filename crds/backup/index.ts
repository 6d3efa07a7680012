/**
 * Backups and archives: kinds whose names, keys and quota are settled, and which no release carries out yet.
 *
 * @module
 */
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

/** Copies of a tenant's volumes outside of its nodes. */
export const backupKind = defineKind({
  kind: 'Backup',
  singular: 'backup',
  plural: 'backups',
  shortNames: [],
  description: 'A copy of a volume that is kept outside of the tenant’s nodes. No release makes one yet.',
  scope: 'tenant',
  isSupported: false,
  quotas: { backups: { default: 500, unit: 'count' } },
  events: [],
  operations: [],
  nameField: 'id',
  columns: [],
});
