import { defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { backupColumns } from './columns.js';
import { backupImportSchema, backupRequestSchema } from './requests.js';

/** Copies of the configuration of deployments. */
export const backupKind = defineKind({
  kind: 'Backup',
  singular: 'backup',
  plural: 'backups',
  shortNames: [],
  description:
    'A copy of the configuration of a deployment with its history; no value of a secret and no byte of a volume.',
  scope: 'tenant',
  range: 'backups/',
  keyParts: ['tenant', 'id'],
  quotas: {
    backups: { default: 500, unit: 'count', countsRecords: true },
    backupBytes: { default: 64 * 2 ** 20, unit: 'bytes' },
  },
  requests: { BackupRequest: backupRequestSchema, BackupImport: backupImportSchema },
  events: ['backup.created', 'backup.restored'],
  path: '/api/v1/backups',
  item: '{id}',
  operations: ['list', 'watch', 'create', 'delete'],
  routes: {
    list: { summary: 'Lists the tenant’s backups without their configurations, or follows them' },
    create: {
      summary: 'Copies the configuration of a deployment with its history',
      codes: [...documentCodes.request, 'deployment_not_found', 'quota_reached', 'outcome_unknown'],
    },
    delete: { headers: ['If-Match'], codes: ['resource_not_found', 'outcome_unknown', 'revision_mismatch'] },
    'GET /{id}': {
      summary: 'Shows a backup whole: this is what an import takes',
      answer: { status: 200, component: 'Object' },
      codes: ['resource_not_found'],
    },
    'POST /import': {
      summary: 'Stores a backup that was exported, here or by another installation',
      body: 'BackupImport',
      answer: { status: 201, component: 'Object' },
      otherwise: [{ status: 200, component: 'Object' }],
      codes: [
        ...documentCodes.request,
        'backup_checksum_mismatch',
        'backup_already_exists',
        'plaintext_credential_in_environment',
        'secret_material_would_persist',
        'secret_generate_would_persist',
        'quota_reached',
        'outcome_unknown',
      ],
    },
    'POST /{id}/restore': {
      summary: 'Brings the configuration of a backup back, as a new revision or as a new deployment',
      headers: ['If-Match'],
      answer: { status: 200, component: 'DeploymentAnswer' },
      otherwise: [{ status: 201, component: 'DeploymentAnswer' }],
      codes: [...documentCodes.deploymentChange, 'resource_not_found', 'backup_checksum_mismatch'],
    },
  },
  notFound: 'resource_not_found',
  nameField: 'id',
  columns: backupColumns,
});
