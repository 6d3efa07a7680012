/** A name for several countries, declared by the control plane. */
export interface Region {
  readonly name: string;
  readonly countries: readonly string[];
}

/** What the control plane declares about residency. */
export interface Regions {
  /** Whether placement honours residency at all. */
  readonly enforced: boolean;
  readonly declared: readonly Region[];
}

const EU = 'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK';
const APAC = 'AU BD BN CN FJ HK ID IN JP KH KR LA LK MM MN MO MV MY NP NZ PG PH PK SG TH TW VN';

const region = (name: string, countries: string): Region => ({ name, countries: countries.split(' ') });

/** The regions of the default configuration. */
export const defaultRegions: readonly Region[] = [
  region('eu', EU),
  region('eea', `${EU} IS LI NO`),
  region('uk', 'GB'),
  region('us', 'US'),
  region('ca', 'CA'),
  region('apac', APAC),
];
