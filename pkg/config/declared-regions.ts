import { isCountry, type Region, type Regions } from '../../crds/residency/index.js';
import { InvalidSettingFault } from './faults.js';
import type { Settings } from './settings.js';

const ENTRY = /^([a-z][a-z0-9-]{0,62})=([A-Za-z|]+)$/;

/** What the settings declare about residency. A region that cannot be read is a fault, not a region without countries. */
export function declaredRegions({ regions, residencyEnforcement }: Settings): Regions {
  return { enforced: residencyEnforcement, declared: regions.map(regionOf) };
}

function regionOf(text: string): Region {
  const [, name, list] = ENTRY.exec(text) ?? [];
  const countries = list?.split('|') ?? [];
  if (name === undefined || !countries.every(isCountry)) {
    throw new InvalidSettingFault(`setting "regions": "${text}" must be a name and countries, as eu=DE|FR`);
  }
  return { name, countries: countries.map(country => country.toUpperCase()) };
}
