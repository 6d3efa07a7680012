import { defineKind } from '../kind/index.js';
import { secretWriteSchema } from './write.js';

/** Credentials, in versions. */
export const secretKind = defineKind({
  kind: 'Secret',
  singular: 'secret',
  plural: 'secrets',
  shortNames: [],
  description: 'A credential in versions, kept in the secrets store; its values are never answered.',
  scope: 'tenant',
  isSupported: true,
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
  ],
  path: '/api/v1/secrets',
  item: '{namespace}/{resource}',
  operations: ['update', 'delete'],
  summaries: {
    update: 'Writes the next version of a credential; no value is ever answered',
    delete: 'Destroys a credential that nothing refers to',
  },
  nameField: 'name',
  columns: [],
});
