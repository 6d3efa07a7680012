/**
 * Every kind that exists, in one list, and what is derived from the list as a whole.
 *
 * A new kind is entered in `list.ts`; everything else about it stands in its own folders. Functions that derive
 * something from the list take it as a parameter, so that a test can add a kind of its own.
 *
 *     findKindByName('deploy')?.path  // '/api/v1/deployments'
 *     defaultQuotas.deployments       // 200
 *
 * @module
 */
export type { EventSubjectKind, EventType, KnownKind } from './list.js';
export { eventTypes, findKindByName, kinds, listKindNames, sortForDeletion } from './list.js';
export type { QuotaKind, TenantQuotas } from './quotas.js';
export {
  checkQuotaRequest,
  defaultQuotas,
  listCountedRanges,
  formatQuota,
  mergeQuotas,
  parseQuota,
  quotaKinds,
  quotaRequestSchema,
} from './quotas.js';
