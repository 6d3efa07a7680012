import { parsePortRange, type PortRange } from '../../crds/grammar/index.js';
import { defaultQuotas, mergeQuotas, parseQuota, quotaKinds, type TenantQuotas } from '../../crds/kinds/index.js';
import { isCountry, type Regions } from '../../crds/residency/index.js';
import { InvalidSettingFault, type Settings } from './settings.js';

/** Shorter, and history would be gone before a lost answer is settled by it. */
const COMPACT_EVERY_MIN_SECONDS = 60;
const COMPACT_EVERY_MAX_SECONDS = 86_400;

/** How often etcd is compacted, in milliseconds; 0: never. */
export function parseCompactionInterval(settings: Pick<Settings, 'etcdCompactEverySeconds'>): number {
  const { etcdCompactEverySeconds: seconds } = settings;
  const isSound = seconds >= COMPACT_EVERY_MIN_SECONDS && seconds <= COMPACT_EVERY_MAX_SECONDS;
  if (seconds === 0 || isSound) return seconds * 1_000;
  const range = `from ${COMPACT_EVERY_MIN_SECONDS} to ${COMPACT_EVERY_MAX_SECONDS}`;
  throw new InvalidSettingFault(`setting "etcdCompactEverySeconds": must be ${range}, or 0 to leave it to others`);
}

/** The host ports of the platform itself. One that cannot be parsed is a fault, never a port that is free. */
export function parseReservedHostPorts({
  reservedHostPorts,
}: Pick<Settings, 'reservedHostPorts'>): readonly PortRange[] {
  return reservedHostPorts.map(text => {
    const range = parsePortRange(text);
    if (range) return range;
    throw new InvalidSettingFault(`setting "reservedHostPorts": "${text}" must be a port or a range, as 2379-2380`);
  });
}

const NO_LIMIT = 'unlimited';

/**
 * The quotas of a tenant that has none of its own. Kinds that the setting omits keep their defaults. An entry that cannot
 * be parsed is a fault, never a quota without a limit.
 */
export function parseQuotaSettings({ quotas }: Pick<Settings, 'quotas'>): TenantQuotas {
  const entries = quotas.map(text => {
    const [name = '', amount = ''] = text.split('=');
    const kind = quotaKinds.find(each => each === name);
    const limit = kind && (amount === NO_LIMIT ? null : parseQuota(kind, amount));
    if (kind && limit !== undefined) return [kind, limit] as const;
    throw new InvalidSettingFault(
      `setting "quotas": "${text}" must be one of ${quotaKinds.join(', ')} and an amount or "${NO_LIMIT}", as cpu=64`,
    );
  });
  return mergeQuotas(defaultQuotas, Object.fromEntries(entries));
}

/** The regions of the settings. One that cannot be parsed is a fault, never a region without countries. */
export function parseRegionSettings({ regions, residencyEnforcement }: Settings): Regions {
  const declared = regions.map(text => {
    const [, name, list] = /^([a-z][a-z0-9-]{0,62})=([A-Za-z|]+)$/.exec(text) ?? [];
    const countries = list?.split('|') ?? [];
    if (name !== undefined && countries.every(isCountry))
      return { name, countries: countries.map(c => c.toUpperCase()) };
    throw new InvalidSettingFault(`setting "regions": "${text}" must be a name and countries, as eu=DE|FR`);
  });
  return { enforced: residencyEnforcement, declared };
}
