/**
 * Tenants and the tokens that speak for them: `tenants/<uuid>` and `tokens/<public id>`.
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
export type { Role, StoredTenant, StoredToken, TokenKind, TokenRequest } from './tenant.js';
export {
  checkSignInRequest,
  checkTenantRequest,
  checkTokenRequest,
  signInRequestSchema,
  TENANT_LOWERED,
  tokenRequestSchema,
} from './tenant.js';
export { tenantKind } from './kind.js';
