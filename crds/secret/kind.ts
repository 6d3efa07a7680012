import { defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { secretColumns } from './columns.js';
import { secretWriteSchema } from './write.js';

/** Credentials, in versions. */
export const secretKind = defineKind({
  kind: 'Secret',
  singular: 'secret',
  plural: 'secrets',
  shortNames: [],
  description: 'A credential in versions, kept in the secrets store; its values are never answered.',
  scope: 'tenant',
  range: 'secrets/',
  keyParts: ['tenant', 'namespace', 'label'],
  quotas: { secrets: { default: 500, unit: 'count', countsRecords: true } },
  requests: { SecretWrite: secretWriteSchema },
  published: ['SecretWrite'],
  events: [
    'secret.written',
    'secret.unresolved',
    'secret.rotation_advanced',
    'secret.rotation_aborted',
    'secret.delivery_repeated',
    'secret.record_unusable',
  ],
  path: '/api/v1/secrets',
  item: '{namespace}/{resource}',
  operations: ['list', 'update', 'delete'],
  routes: {
    list: {
      summary: 'Lists the credentials that the tenant has stored or refers to; no value is ever answered',
      answer: { status: 200, component: 'ObjectList' },
    },
    'GET /{namespace}/{resource}': {
      summary: 'Shows the names of a credential’s keys and its consumers; no value is ever answered',
      answer: { status: 200, component: 'Object' },
      codes: [
        'resource_not_found',
        'secret_path_namespace',
        'secret_path_shape',
        'secret_store_unavailable',
        'secret_unreadable',
      ],
    },
    update: {
      summary: 'Writes the next version of a credential; no value is ever answered',
      body: 'SecretWrite',
      answer: { status: 201, component: 'Object' },
      otherwise: [{ status: 200, component: 'Object' }],
      codes: documentCodes.secretWrite,
    },
    delete: {
      summary: 'Destroys a credential that nothing refers to',
      codes: [
        'secret_in_use',
        'secret_rotation_open',
        'secret_path_namespace',
        'secret_path_shape',
        'secret_store_unavailable',
        'secret_unreadable',
        'outcome_unknown',
      ],
    },
    'GET /resources': {
      summary: 'Every credential that the tenant refers to',
      answer: { status: 200, component: 'ObjectList' },
    },
    'GET /resources/{name}/consumers': {
      summary: 'The deployments that refer to a credential, and the keys that they use',
      answer: { status: 200, component: 'Object' },
    },
  },
  nameField: 'path',
  columns: secretColumns,
});
