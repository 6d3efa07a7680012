import { cpuMillis, memoryBytes } from '../../crds/grammar/index.js';
import type { TenantQuotas } from '../../crds/tenant/index.js';
import { InvalidSettingFault } from './faults.js';
import type { Settings } from './settings.js';

const read: Readonly<Record<keyof TenantQuotas, (text: string) => number | undefined>> = {
  containers: text => (/^\d{1,9}$/.test(text) ? Number(text) : undefined),
  cpu: cpuMillis,
  memory: memoryBytes,
};

/** The quotas of a tenant whose own record sets none. One that cannot be read is a fault, not a quota without a limit. */
export function declaredQuotas({ quotas }: Pick<Settings, 'quotas'>): TenantQuotas {
  return Object.fromEntries(quotas.map(entryOf));
}

function entryOf(text: string): [string, number] {
  const [kind = '', amount = ''] = text.split('=');
  const limit = Object.hasOwn(read, kind) ? read[kind as keyof TenantQuotas](amount) : undefined;
  if (limit !== undefined) return [kind, limit];
  throw new InvalidSettingFault(
    `setting "quotas": "${text}" must be containers, cpu or memory and an amount, as cpu=64`,
  );
}
