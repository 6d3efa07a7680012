import type { IncomingMessage } from 'node:http';

import { keys } from '../../crds/keys/index.js';
import type { Alteration } from '../../crds/rule/index.js';
import { TENANT_LOWERED } from '../../crds/tenant/index.js';
import type { Cache } from '../../pkg/store/index.js';
import { JSON_TYPE, rejectRequest, RequestRejection } from '../http/reply.js';
import { type Access, type Caller, includesRole, type RouteResult, type TenantRule } from '../http/route.js';

/** Refuses a caller whose kind of token, or whose role, the route does not accept. */
export function checkAccess(caller: Caller, access: Access): RequestRejection | undefined {
  if (access === 'open') return undefined;
  const granted = caller.kind === 'anonymous' ? undefined : access[caller.kind];
  if (granted === true) return undefined;
  if (granted !== undefined && includesRole(caller.role, granted)) return undefined;
  return rejectRequest('auth_forbidden', 'Authorization', caller.id, { needed: describeAccess(access) });
}

function describeAccess(access: Exclude<Access, 'open'>): string {
  const accepted = [
    access.tenant && `a tenant token with the role ${access.tenant}`,
    access.admin && 'an administrator token',
    access.node && 'a node token',
    access.join && 'a join token',
  ];
  return accepted.filter(Boolean).join(', or ');
}

const HEADER = 'X-Tenant-ID';
const NONE: readonly string[] = [];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The tenant a call is about: always the token's own, except for an administrator, who names one. The header can
 * therefore choose only for those who may have any tenant; for all others it can only be wrong.
 *
 * `headers` are all values of `X-Tenant-ID` that were sent.
 */
export function resolveTenant(
  caller: Caller,
  rule: TenantRule,
  headers: readonly string[],
  cache: Cache,
): string | RequestRejection | Promise<string | RequestRejection> {
  if (rule === 'none') return '';
  if (rule === 'named' && headers.every(each => each === '')) {
    return rejectRequest('dvm_recommendation_tenant_required', HEADER, '');
  }
  const asked = parseHeader(headers);
  if (asked instanceof RequestRejection) return asked;
  if (caller.kind !== 'admin') {
    if (asked !== undefined && asked !== caller.tenant) return rejectRequest('tenant_mismatch', HEADER, asked);
    return caller.tenant ?? '';
  }
  if (asked === undefined) {
    if (rule === 'chosen') return '';
    return rejectRequest('tenant_header_required', HEADER, '');
  }
  if (cache.get(keys.tenant(asked))) return asked;
  return cache.barrier().then(() => {
    return cache.get(keys.tenant(asked)) ? asked : rejectRequest('resource_not_found', HEADER, asked);
  });
}

/** Every `X-Tenant-ID` that was sent: Node would join two of them into one. */
export function listTenantHeaders(request: IncomingMessage): readonly string[] {
  if (request.headers['x-tenant-id'] === undefined) return NONE;
  return request.headersDistinct['x-tenant-id'] ?? NONE;
}

function parseHeader(headers: readonly string[]): string | RequestRejection | undefined {
  const [first, second] = headers;
  if (first === undefined) return undefined;
  if (second === undefined && UUID.test(first)) return first.toLowerCase();
  return rejectRequest('tenant_header_invalid', HEADER, headers.join(', '));
}

/** Announces in a reply that the tenant was named in capitals. */
export function announceTenant(outcome: RouteResult, sent: string | undefined, tenant: string): RouteResult {
  if (sent === undefined || sent === tenant || sent.toLowerCase() !== tenant) return outcome;
  if (outcome instanceof RequestRejection || !('body' in outcome) || outcome.type !== JSON_TYPE) return outcome;
  const bytes = Buffer.isBuffer(outcome.body) ? outcome.body : Buffer.concat(outcome.body);
  const body = JSON.parse(bytes.toString()) as { readonly alterations?: readonly Alteration[] };
  const alterations = [...(body.alterations ?? []), { field: HEADER, from: sent, to: tenant, why: TENANT_LOWERED }];
  return { ...outcome, body: Buffer.from(JSON.stringify({ ...body, alterations })), alterations };
}
