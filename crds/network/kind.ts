import { Type } from 'typebox';

import { defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { networkColumns } from './columns.js';
import { networkSchema } from './network.js';
import { networkReportsSchema } from './reports.js';

const text = Type.String();

/** Networks that containers of one node may join. */
export const networkKind = defineKind({
  kind: 'Network',
  singular: 'network',
  plural: 'networks',
  shortNames: ['net'],
  description: 'A network of one node. Workloads that name it join it in the place of the tenant’s own.',
  scope: 'tenant',
  range: 'networks/',
  keyParts: ['tenant', 'name'],
  statusRange: 'network-status/',
  quotas: { networks: { default: 50, unit: 'count', countsRecords: true } },
  body: networkSchema,
  status: {
    NetworkStatus: Type.Object(
      {
        uid: text,
        state: Type.Enum(['pending', 'ready', 'failed', 'unknown'], { type: 'string' }),
        reason: text,
        message: text,
        node: Type.Optional(text),
        since: Type.String({ format: 'date-time' }),
        announced: Type.Optional(Type.Enum(['ready', 'failed'], { type: 'string' })),
      },
      { description: 'whether the network exists on the engine of its node' },
    ),
  },
  requests: { NetworkReports: networkReportsSchema },
  kubernetes: { shortNames: ['mnet'], printed: [{ name: 'Phase', type: 'string', jsonPath: '.status.phase' }] },
  events: ['network.created', 'network.ready', 'network.failed', 'network.deleted', 'network.record_unusable'],
  path: '/api/v1/networks',
  operations: ['list', 'watch', 'get', 'create', 'delete'],
  uses: ['node'],
  routes: {
    create: { codes: documentCodes.network },
    delete: {
      summary: 'Deletes a network that nothing joins',
      headers: ['If-Match'],
      codes: ['resource_not_found', 'network_in_use', 'revision_mismatch', 'outcome_unknown'],
    },
  },
  notFound: 'resource_not_found',
  nameField: 'name',
  columns: networkColumns,
});
