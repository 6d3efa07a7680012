import { defineKind } from '../kind/index.js';

/** Snapshots of volumes. */
export const snapshotKind = defineKind({
  kind: 'Snapshot',
  singular: 'snapshot',
  plural: 'snapshots',
  shortNames: [],
  description: 'A frozen copy of a volume. No release makes one: creation is refused.',
  scope: 'tenant',
  events: [],
  operations: [],
  notFound: 'volume_snapshot_not_found',
  nameField: 'id',
  columns: [],
});
