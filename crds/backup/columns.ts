import { defineColumns } from '../kind/index.js';
import type { StoredBackup } from './backup.js';

/** What lists show of a backup. */
export const backupColumns = defineColumns<StoredBackup>([
  { title: 'ID', value: ({ id }) => id },
  { title: 'DEPLOYMENT', value: ({ deploymentName }) => deploymentName },
  { title: 'AGE', value: ({ createdAt }) => createdAt, format: 'age' },
  { title: 'REVISIONS', value: ({ revisionCount }) => String(revisionCount) },
  { title: 'BY', value: ({ createdBy }) => createdBy },
  { title: 'SPEC HASH', isWide: true, value: ({ specHash }) => specHash },
  { title: 'SECRETS VERSION', isWide: true, value: ({ secretsVersion }) => String(secretsVersion) },
  { title: 'CHECKSUM', isWide: true, value: ({ checksum }) => checksum },
]);
