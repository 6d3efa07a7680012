import { type Static, Type } from 'typebox';

import { FieldPath } from '../grammar/index.js';
import { annotate, type Announce, type FieldError, fixByValue, type Rule, rule } from '../rule/index.js';

/** Where data may be. */
export interface Residency {
  readonly country?: string;
  readonly region?: string;
  readonly blockedCountries?: readonly string[];
}

const BLOCKED_MAX = 250;
const byRules = annotate({ 'x-rules': true });
const country = Type.String({ maxLength: 2, pattern: '^[A-Za-z]{2}$', ...byRules });

export const residencySchema = Type.Object(
  {
    country: Type.Optional(country),
    region: Type.Optional(
      Type.String({ minLength: 1, maxLength: 63, ...annotate({ 'x-expected': 'the name of a region' }) }),
    ),
    blockedCountries: Type.Optional(
      Type.Array(country, { maxItems: BLOCKED_MAX, ...annotate({ 'x-expected': 'a list of countries, each once' }) }),
    ),
  },
  { additionalProperties: false, ...annotate({ 'x-expected': 'an object with country, region or blockedCountries' }) },
);

/** A residency as a client sends it. */
export type ResidencyInput = Static<typeof residencySchema>;

type Loose = { readonly country?: unknown; readonly blockedCountries?: readonly unknown[] };

const countriesExist = rule('residency_country_invalid', (residency: Loose, at, refuse) => {
  const errors: FieldError[] = [];
  const judge = (value: unknown, place: FieldPath) => {
    if (typeof value === 'string' && isCountry(value)) return;
    const error = refuse(place, value);
    // The one code that people write and ISO has not.
    const isBritain = typeof value === 'string' && value.toUpperCase() === 'UK';
    errors.push(isBritain ? fixByValue(error, 'GB') : error);
  };
  if (residency.country !== undefined) judge(residency.country, at.child('country'));
  for (const [position, value] of (residency.blockedCountries ?? []).entries()) {
    judge(value, at.child('blockedCountries').index(position));
  }
  return errors;
});

const regionIsDeclared = rule(
  'residency_region_unknown',
  ({ region }: ResidencyInput, at, refuse, { facts }: { facts: { regions: Regions } }) => {
    const declared = facts.regions.declared.map(({ name }) => name);
    if (region === undefined || declared.includes(region)) return undefined;
    const error = refuse(at.child('region'), region, { declared });
    const meant = declared.find(name => name === region.toLowerCase());
    return meant ? fixByValue(error, meant) : error;
  },
);

/** The rules of a residency block, wherever it stands. */
export const residencyRules: readonly Rule<never, { facts: { regions: Regions } }>[] = [
  countriesExist,
  regionIsDeclared,
];

/** The residency to store: countries in capitals, announced. */
export function completeResidency(sent: ResidencyInput, at: FieldPath, announce: Announce): Residency {
  const capital = (text: string, place: FieldPath) => {
    const upper = text.toUpperCase();
    if (upper !== text) announce(place, text, upper, 'countries are written in capitals');
    return upper;
  };
  const { country, region, blockedCountries } = sent;
  return {
    ...(country !== undefined && { country: capital(country, at.child('country')) }),
    ...(region !== undefined && { region }),
    ...(blockedCountries && {
      blockedCountries: blockedCountries.map((code, i) => capital(code, at.child('blockedCountries').index(i))),
    }),
  };
}

/** ISO 3166-1 alpha-2, as officially assigned. */
const ASSIGNED =
  'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC ' +
  'CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD ' +
  'GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH ' +
  'KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW ' +
  'MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC ' +
  'SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY ' +
  'UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW';

const countries: ReadonlySet<string> = new Set(ASSIGNED.split(' '));

/** Whether a text names a country, in capitals or not. */
export function isCountry(text: string): boolean {
  return text.length === 2 && countries.has(text.toUpperCase());
}

/** A name for several countries, declared by the control plane. */
export interface Region {
  readonly name: string;
  readonly countries: readonly string[];
}

/** What the control plane declares about residency. */
export interface Regions {
  /** Whether placement enforces residency at all. */
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
