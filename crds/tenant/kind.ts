import { defineColumns, defineKind } from '../kind/index.js';
import { type StoredTenant, type StoredToken, tenantRequestSchema, tokenRequestSchema } from './tenant.js';

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
  events: ['quota.reached', 'store.alarm_raised', 'store.alarm_cleared'],
  path: '/api/v1/tenants',
  item: '{tenant}',
  operations: ['list', 'get', 'create'],
  notFound: 'resource_not_found',
  nameField: 'id',
  columns: defineColumns<StoredTenant>([
    { title: 'NAME', value: ({ name }) => name },
    { title: 'ID', value: ({ id }) => id },
    { title: 'AGE', value: ({ createdAt }) => createdAt, format: 'age' },
    { title: 'PLATFORM', isWide: true, value: ({ platform }) => (platform ? 'yes' : 'no') },
  ]),
});

/** What speaks for a tenant, a node or the platform. */
export const tokenKind = defineKind({
  kind: 'Token',
  singular: 'token',
  plural: 'tokens',
  shortNames: [],
  description: 'A bearer token; its secret is shown once, and only a digest of it is stored.',
  scope: 'tenant',
  isSupported: true,
  range: 'tokens/',
  keyParts: ['id'],
  requests: { TokenRequest: tokenRequestSchema },
  events: [],
  path: '/api/v1/tokens',
  item: '{id}',
  operations: ['list', 'create', 'delete'],
  summaries: {
    list: 'Lists tokens, without their secrets',
    create: 'Mints a token; its text is answered once and not stored',
    delete: 'Revokes a token at once',
  },
  notFound: 'resource_not_found',
  nameField: 'id',
  columns: defineColumns<Omit<StoredToken, 'digest'>>([
    { title: 'ID', value: ({ id }) => id },
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'ROLE', value: ({ role }) => role ?? '-' },
    { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt },
    { title: 'DESCRIPTION', value: ({ description }) => description },
    { title: 'TENANT', isWide: true, value: ({ tenant }) => tenant ?? '-' },
  ]),
});
