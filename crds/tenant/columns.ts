import { defineColumns } from '../kind/index.js';
import type { StoredTenant } from './tenant.js';

/** What lists show of a tenant. */
export const tenantColumns = defineColumns<StoredTenant>([
  { title: 'NAME', value: ({ name }) => name },
  { title: 'ID', value: ({ id }) => id },
  { title: 'AGE', value: ({ createdAt }) => createdAt, format: 'age' },
  { title: 'PLATFORM', isWide: true, value: ({ platform }) => (platform ? 'yes' : 'no') },
]);
