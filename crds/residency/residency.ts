import { type Static, Type } from 'typebox';

import { FieldPath } from '../grammar/index.js';
import { type Announce, annotate, type FieldError, attachFix, type Rule, rule } from '../rule/index.js';
import { isCountry } from './countries.js';
import type { Regions } from './regions.js';

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

const countriesExist = rule('residency_country_invalid', (residency: Loose, at, _facts: unknown, refuse) => {
  const findings: FieldError[] = [];
  const judge = (value: unknown, place: FieldPath) => {
    if (typeof value === 'string' && isCountry(value)) return;
    const finding = refuse(place, value);
    // The one code that people write and ISO has not.
    const isBritain = typeof value === 'string' && value.toUpperCase() === 'UK';
    findings.push(isBritain ? attachFix(finding, { op: 'replace', path: place.toPointer(), value: 'GB' }) : finding);
  };
  if (residency.country !== undefined) judge(residency.country, at.child('country'));
  for (const [position, value] of (residency.blockedCountries ?? []).entries()) {
    judge(value, at.child('blockedCountries').index(position));
  }
  return findings;
});

const regionIsDeclared = rule(
  'residency_region_unknown',
  ({ region }: ResidencyInput, at, { facts }: { facts: { regions: Regions } }, refuse) => {
    const declared = facts.regions.declared.map(({ name }) => name);
    if (region === undefined || declared.includes(region)) return undefined;
    const finding = refuse(at.child('region'), region, { declared });
    const meant = declared.find(name => name === region.toLowerCase());
    return meant ? attachFix(finding, { op: 'replace', path: at.child('region').toPointer(), value: meant }) : finding;
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
