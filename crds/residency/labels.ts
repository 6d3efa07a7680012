import { isCountry, type Regions, type Residency } from './residency.js';

type Labels = Readonly<Record<string, string>>;

const COUNTRY = 'mooring.io/data-residency-country';
const REGION = 'mooring.io/data-residency-region';
const BLOCKED = 'mooring.io/blocked-countries';
const PREFIX = 'mooring.io/data-residency';

/** What a node says of itself. */
export const nodeCountryLabel = 'mooring.io/country';
export const nodeRegionLabel = 'mooring.io/geo-region';

/** The labels that a residency is stored as. What is no code, in a document that is being judged, is left out. */
export function renderResidencyLabels({ country, region, blockedCountries }: Residency): Labels {
  const labels: Record<string, string> = {};
  if (country !== undefined) labels[COUNTRY] = country;
  if (region !== undefined) labels[REGION] = region;
  const blocked = blockedCountries?.filter(code => typeof code === 'string') ?? [];
  if (blocked.length > 0) labels[BLOCKED] = blocked.join(',');
  return labels;
}

/** Whether a label states residency, in whatever case it is written. */
export function isResidencyLabel(key: string): boolean {
  const plain = key.toLowerCase();
  return plain.startsWith(PREFIX) || plain === BLOCKED;
}

/** The typed block that says the same as hand-written labels do, whichever case their keys are written in. */
export function parseResidencyLabels(labels: Labels): Residency {
  const plain = new Map(Object.entries(labels).map(([key, value]) => [key.toLowerCase(), value]));
  const country = plain.get(COUNTRY);
  const region = plain.get(REGION);
  const blocked = plain
    .get(BLOCKED)
    ?.split(',')
    .map(code => code.trim());
  return {
    ...(country !== undefined && { country }),
    ...(region !== undefined && { region }),
    ...(blocked && { blockedCountries: blocked.filter(Boolean) }),
  };
}

const KNOWN: ReadonlySet<string> = new Set([COUNTRY, REGION, BLOCKED]);

/** Whether the typed block of these labels says all that they say, and would be accepted. */
export function isTypedInFull(labels: Labels, { declared }: Regions): boolean {
  const keys = Object.keys(labels).map(key => key.toLowerCase());
  if (new Set(keys).size < keys.length || !keys.every(key => KNOWN.has(key))) return false;
  const { country, region, blockedCountries = [] } = parseResidencyLabels(labels);
  const countries = country === undefined ? blockedCountries : [country, ...blockedCountries];
  return countries.every(isCountry) && (region === undefined || declared.some(({ name }) => name === region));
}

/** One part of a residency that a node does not meet: what is required, and what the node reports. */
export interface ResidencyMismatch {
  readonly part: keyof Residency;
  readonly required: string;
  readonly reported: string;
}

/** Every part of a residency that a node with these labels does not meet. A node that reports nothing meets nothing. */
export function checkResidency(residency: Residency, node: Labels, regions: Regions): readonly ResidencyMismatch[] {
  const { country, region, blockedCountries = [] } = residency;
  const [at, within] = [node[nodeCountryLabel], node[nodeRegionLabel]];
  const refusals: ResidencyMismatch[] = [];
  if (country !== undefined && at !== country) {
    refusals.push({ part: 'country', required: country, reported: at ?? 'nothing' });
  }
  if (region !== undefined && within !== region && !covers(regions, region, at)) {
    refusals.push({ part: 'region', required: region, reported: within ?? at ?? 'nothing' });
  }
  // A node that does not say where it is could be in a blocked country.
  if (blockedCountries.length > 0 && (at === undefined || blockedCountries.includes(at))) {
    const required = `not ${blockedCountries.join(',')}`;
    refusals.push({ part: 'blockedCountries', required, reported: at ?? 'nothing' });
  }
  return refusals;
}

function covers({ declared }: Regions, name: string, country: string | undefined): boolean {
  return country !== undefined && (declared.find(region => region.name === name)?.countries.includes(country) ?? false);
}
