import { defineKind } from '../kind/index.js';
import { volumeReplicaSchema, volumeSchema } from './admission.js';

/** Storage that outlives containers. */
export const volumeKind = defineKind({
  kind: 'Volume',
  singular: 'volume',
  plural: 'volumes',
  shortNames: [],
  description: 'Storage that outlives containers, with copies on other nodes where it is replicated.',
  scope: 'tenant',
  isSupported: false,
  range: 'volumes/',
  keyParts: ['tenant', 'id'],
  statusRange: 'volume-status/',
  quotas: {
    volumes: { default: 100, unit: 'count', countsRecords: true },
    volumeBytes: { default: 2 ** 40, unit: 'bytes' },
  },
  body: volumeSchema,
  requests: { VolumeReplicaRequest: volumeReplicaSchema },
  kubernetes: { shortNames: ['mvol'] },
  events: [],
  operations: [],
  nameField: 'id',
  columns: [],
});
