import { defaultRegions, type Regions } from '../../crds/residency/index.js';
import { defaultQuotas, type TenantQuotas } from '../../crds/tenant/index.js';
import { declaredQuotas, declaredRegions, type Settings } from '../config/index.js';

/** What the operator has settled about placement. */
export interface PlacementPolicy {
  readonly regions: Regions;
  /** Of tenants whose own record sets none. */
  readonly quotas: TenantQuotas;
}

/** The policy of the default settings. */
export const defaultPolicy: PlacementPolicy = {
  regions: { enforced: true, declared: defaultRegions },
  quotas: defaultQuotas,
};

/** The policy that the settings declare. */
export function policyOf(settings: Settings): PlacementPolicy {
  return { regions: declaredRegions(settings), quotas: declaredQuotas(settings) };
}
