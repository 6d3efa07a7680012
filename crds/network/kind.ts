import { defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { networkSchema } from './network.js';

/** Networks that containers of one node may join. */
export const networkKind = defineKind({
  kind: 'Network',
  singular: 'network',
  plural: 'networks',
  shortNames: [],
  description: 'A network of one node that containers may join beside the tenant’s own.',
  scope: 'tenant',
  isSupported: false,
  range: 'networks/',
  keyParts: ['tenant', 'name'],
  quotas: { networks: { default: 50, unit: 'count', countsRecords: true } },
  body: networkSchema,
  kubernetes: { shortNames: ['mnet'] },
  events: [],
  path: '/api/v1/networks',
  operations: ['create'],
  routes: {
    create: { codes: documentCodes.network },
  },
  nameField: 'name',
  columns: [],
});
