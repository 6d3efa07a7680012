import { defineKind } from '../kind/index.js';

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
