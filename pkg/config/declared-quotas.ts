import { defaultQuotas, mergeQuotas, parseQuota, type QuotaKind, quotaKinds } from '../../crds/kinds/index.js';
import type { TenantQuotas } from '../../crds/kinds/index.js';
import { InvalidSettingFault } from './faults.js';
import type { Settings } from './settings.js';

const NO_LIMIT = 'unlimited';

/**
 * The quotas of a tenant whose own record sets none. Kinds that the setting leaves out keep their defaults. One that cannot
 * be read is a fault, not a quota without a limit.
 */
export function declaredQuotas({ quotas }: Pick<Settings, 'quotas'>): TenantQuotas {
  return mergeQuotas(defaultQuotas, Object.fromEntries(quotas.map(entryOf)));
}

function entryOf(text: string): [QuotaKind, number | null] {
  const [name = '', amount = ''] = text.split('=');
  const kind = quotaKinds.find(each => each === name);
  const limit = kind && (amount === NO_LIMIT ? null : parseQuota(kind, amount));
  if (kind && limit !== undefined) return [kind, limit];
  throw new InvalidSettingFault(
    `setting "quotas": "${text}" must be one of ${quotaKinds.join(', ')} and an amount or "${NO_LIMIT}", as cpu=64`,
  );
}
