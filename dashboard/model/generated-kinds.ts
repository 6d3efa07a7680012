import type { Kind } from '../../crds/kind/index.js';
import { backupColumns } from '../../crds/backup/columns.js';
import { deploymentColumns } from '../../crds/deployment/columns.js';
import { eventColumns } from '../../crds/event/columns.js';
import { jobColumns } from '../../crds/job/columns.js';
import { networkColumns } from '../../crds/network/columns.js';
import { nodeColumns } from '../../crds/node/columns.js';
import { secretColumns } from '../../crds/secret/columns.js';
import { tenantColumns } from '../../crds/tenant/columns.js';
import { tokenColumns } from '../../crds/token/columns.js';
import { volumeColumns } from '../../crds/volume/columns.js';

/** What the dashboard knows of a kind from its descriptor. */
export type PlacedKind = Pick<
  Kind,
  'kind' | 'singular' | 'plural' | 'scope' | 'path' | 'item' | 'nameField' | 'operations' | 'deletedBy' | 'columns'
>;

/** Every kind that can be listed. Generated from `crds/kinds` by `make generate`. */
export const placedKinds = [
  {
    kind: 'Deployment',
    singular: 'deployment',
    plural: 'deployments',
    scope: 'tenant',
    path: '/api/v1/deployments',
    item: '{name}',
    nameField: 'name',
    operations: ['list', 'watch', 'get', 'create', 'update', 'delete'],
    columns: deploymentColumns,
  },
  {
    kind: 'Volume',
    singular: 'volume',
    plural: 'volumes',
    scope: 'tenant',
    path: '/api/v1/dvm/volumes',
    item: '{id}',
    nameField: 'name',
    operations: ['list', 'watch', 'get', 'create', 'delete'],
    columns: volumeColumns,
  },
  {
    kind: 'Node',
    singular: 'node',
    plural: 'nodes',
    scope: 'tenant',
    path: '/api/v1/nodes',
    item: '{id}',
    nameField: 'name',
    operations: ['list', 'watch', 'get', 'create', 'delete'],
    deletedBy: 'admin',
    columns: nodeColumns,
  },
  {
    kind: 'Job',
    singular: 'job',
    plural: 'jobs',
    scope: 'tenant',
    path: '/api/v1/jobs',
    item: '{name}',
    nameField: 'name',
    operations: ['list', 'watch', 'get', 'create', 'delete'],
    columns: jobColumns,
  },
  {
    kind: 'Network',
    singular: 'network',
    plural: 'networks',
    scope: 'tenant',
    path: '/api/v1/networks',
    nameField: 'name',
    operations: ['list', 'watch', 'get', 'create', 'delete'],
    columns: networkColumns,
  },
  {
    kind: 'Secret',
    singular: 'secret',
    plural: 'secrets',
    scope: 'tenant',
    path: '/api/v1/secrets',
    item: '{namespace}/{resource}',
    nameField: 'path',
    operations: ['list', 'update', 'delete'],
    columns: secretColumns,
  },
  {
    kind: 'Backup',
    singular: 'backup',
    plural: 'backups',
    scope: 'tenant',
    path: '/api/v1/backups',
    item: '{id}',
    nameField: 'id',
    operations: ['list', 'watch', 'create', 'delete'],
    columns: backupColumns,
  },
  {
    kind: 'Event',
    singular: 'event',
    plural: 'events',
    scope: 'tenant',
    path: '/api/v1/events',
    nameField: 'id',
    operations: ['list', 'watch'],
    columns: eventColumns,
  },
  {
    kind: 'Tenant',
    singular: 'tenant',
    plural: 'tenants',
    scope: 'platform',
    path: '/api/v1/tenants',
    item: '{tenant}',
    nameField: 'id',
    operations: ['list', 'watch', 'get', 'create', 'delete'],
    columns: tenantColumns,
  },
  {
    kind: 'Token',
    singular: 'token',
    plural: 'tokens',
    scope: 'tenant',
    path: '/api/v1/tokens',
    item: '{id}',
    nameField: 'id',
    operations: ['list', 'watch', 'create', 'delete'],
    deletedBy: 'admin',
    columns: tokenColumns,
  },
] as const satisfies readonly PlacedKind[];
