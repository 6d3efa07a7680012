import { defineColumns } from '../kind/index.js';
import type { StoredToken } from '../tenant/index.js';

/** What lists show of a token. */
export const tokenColumns = defineColumns<Omit<StoredToken, 'digest'>>([
  { title: 'ID', value: ({ id }) => id },
  { title: 'KIND', value: ({ kind }) => kind },
  { title: 'ROLE', value: ({ role }) => role ?? '-' },
  { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt },
  { title: 'DESCRIPTION', value: ({ description }) => description },
  { title: 'TENANT', isWide: true, value: ({ tenant }) => tenant ?? '-' },
]);
