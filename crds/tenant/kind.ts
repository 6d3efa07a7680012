import { defineColumns, defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { type StoredTenant, tenantRequestSchema } from './tenant.js';

/** Those who share the platform. */
export const tenantKind = defineKind({
  kind: 'Tenant',
  singular: 'tenant',
  plural: 'tenants',
  shortNames: [],
  description: 'One of those who share the platform, with quotas of its own.',
  scope: 'platform',
  isSupported: true,
  range: 'tenants/',
  keyParts: ['id'],
  requests: { TenantRequest: tenantRequestSchema },
  events: ['quota.reached', 'quota.changed', 'store.alarm_raised', 'store.alarm_cleared', 'tenant.record_unusable'],
  path: '/api/v1/tenants',
  item: '{tenant}',
  operations: ['list', 'watch', 'get', 'create', 'delete'],
  routes: {
    create: { codes: documentCodes.request },
    delete: { codes: ['resource_not_found', 'tenant_in_use', 'tenant_of_platform', 'outcome_unknown'] },
    'GET /{tenant}/remains': {
      summary: 'What a tenant still has, which must be deleted before it can be',
      answer: { status: 200, component: 'Object' },
      codes: ['resource_not_found'],
    },
    'GET /{tenant}/quotas': {
      summary: 'What a tenant may have, and what it has',
      answer: { status: 200, component: 'Object' },
    },
    'PUT /{tenant}/quotas': {
      summary: 'Sets what a tenant may have',
      body: 'QuotaRequest',
      answer: { status: 200, component: 'Object' },
      codes: [...documentCodes.request, 'resource_not_found', 'outcome_unknown'],
    },
    'POST /{tenant}/volumes/{id}/replicas': {
      summary: 'Asks for one more copy of a replicated volume, on the node that it names',
      body: 'VolumeReplicaRequest',
      answer: { status: 200, component: 'Object' },
      codes: [
        ...documentCodes.request,
        'volume_not_found',
        'volume_record_unusable',
        'volume_not_ready',
        'volume_binding_unavailable',
        'volume_replica_unsupported',
        'volume_replica_node_conflict',
        'node_candidates_unresolvable',
        'outcome_unknown',
      ],
    },
    'DELETE /{tenant}/volumes/{id}/replicas/{node_id}': {
      summary: 'Asks for the removal of the copy on a node, by its id or its name, with its bytes',
      headers: ['If-Match'],
      answer: { status: 200, component: 'Object' },
      codes: [
        'volume_not_found',
        'resource_not_found',
        'volume_record_unusable',
        'volume_not_ready',
        'volume_replica_unsupported',
        'volume_replica_set_aside',
        'revision_mismatch',
        'outcome_unknown',
      ],
    },
    'GET /{tenant}/volumes/{id}/snapshots': {
      summary: 'Lists the snapshots of a volume: there are none',
      answer: { status: 200, component: 'Object' },
      codes: ['volume_not_found'],
    },
    'POST /{tenant}/volumes/{id}/snapshots': {
      summary: 'Refuses to make a snapshot, and names what can be done instead',
      answer: { status: 200, component: 'Object' },
      codes: ['volume_snapshot_not_implemented'],
    },
    'GET /{tenant}/volumes/{id}/snapshots/{snap}': {
      summary: 'Shows a snapshot: there is none',
      answer: { status: 200, component: 'Object' },
      codes: ['volume_not_found', 'volume_snapshot_not_found'],
    },
  },
  notFound: 'resource_not_found',
  nameField: 'id',
  columns: defineColumns<StoredTenant>([
    { title: 'NAME', value: ({ name }) => name },
    { title: 'ID', value: ({ id }) => id },
    { title: 'AGE', value: ({ createdAt }) => createdAt, format: 'age' },
    { title: 'PLATFORM', isWide: true, value: ({ platform }) => (platform ? 'yes' : 'no') },
  ]),
});
