import { reject } from '../rejections/index.js';
import { type CheckResult, toRefusal } from '../rule/index.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Judges `DELETE /api/v1/nodes/{nodeName}/claim`: it must name the tenant whose claim is released. */
export function checkClaimRelease(tenantHeader: string | undefined): CheckResult<{ readonly tenant: string }> {
  if (tenantHeader !== undefined && UUID.test(tenantHeader)) {
    return { ok: true, value: { tenant: tenantHeader.toLowerCase() } };
  }
  return toRefusal([reject('node_claim_release_no_tenant', 'X-Tenant-ID', tenantHeader)])!;
}
