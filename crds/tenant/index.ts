/**
 * Tenants and the tokens that speak for them: `tenants/<uuid>` and `tokens/<public id>`.
 *
 * What a tenant may have is `effectiveQuotas` of what is configured and what its own record says.
 *
 * A token's secret is shown once, when it is made; what is stored cannot be turned back into it.
 *
 *     const checked = checkTokenRequest(document);
 *     if (!checked.ok) return checked.rejections;
 *
 * Making, digesting and comparing tokens is left to `pkg/auth`.
 *
 * @module
 */
export type { QuotaKind, QuotaOverrides, TenantQuotas } from './quotas.js';
export { checkQuotaRequest, defaultQuotas, mergeQuotas, parseQuota, quotaKinds, quotaRequestSchema } from './quotas.js';
export type { Role, StoredTenant, StoredToken, TokenKind, TokenRequest } from './tenant.js';
export { checkTenantRequest, checkTokenRequest, tenantRequestSchema, tokenRequestSchema } from './tenant.js';
