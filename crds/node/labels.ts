import { Type } from 'typebox';

import { FieldPath, isLabelKey, isLabelValue } from '../grammar/index.js';
import { type Alteration, annotate, type FieldRules, mapSchema, rule } from '../rule/index.js';

const LABELS_MAX = 64;
const PREFIX = 'mooring.io/';
const COUNTRY = `${PREFIX}country`;

/** What an agent may say under the platform's own prefix. */
const OWN: ReadonlySet<string> = new Set([COUNTRY, `${PREFIX}geo-region`]);

type Labels = Readonly<Record<string, string>>;

export const nodeLabelsSchema = mapSchema(
  Type.String({ maxLength: 1024, ...annotate({ 'x-reject': 'label_invalid' }) }),
  {
    maxProperties: LABELS_MAX,
  },
);

function isReserved(key: string): boolean {
  const plain = key.toLowerCase();
  return plain.startsWith(PREFIX) && !OWN.has(key);
}

function isWellFormed(key: string, value: string): boolean {
  return isLabelKey(key) && isLabelValue(value) && (key !== COUNTRY || /^[A-Za-z]{2}$/.test(value));
}

const labelsAreFree = rule('node_label_reserved', (labels: Labels, at, _facts: unknown, refuse) =>
  Object.keys(labels)
    .filter(isReserved)
    .map(key => refuse(at.child(key), key)),
);

const labelsAreWellFormed = rule('label_invalid', (labels: Labels, at, _facts: unknown, refuse) =>
  Object.entries(labels)
    .filter(([key, value]) => !isWellFormed(key, value))
    .map(([key, value]) => refuse(at.child(key), isLabelKey(key) ? value : key)),
);

export const nodeLabelRules: FieldRules<unknown> = { field: 'labels', present: [labelsAreFree, labelsAreWellFormed] };

/** The labels that may stand, with the country in capitals; what was changed or left out is announced. */
export function normalizeLabels(labels: Labels): {
  readonly labels: Labels;
  readonly alterations: readonly Alteration[];
} {
  const alterations: Alteration[] = [];
  const announce = (key: string, to: string | null, why: string) =>
    alterations.push({ field: FieldPath.root.child('labels').child(key).toString(), from: labels[key], to, why });

  const kept = Object.entries(labels).flatMap(([key, value]): [string, string][] => {
    if (isReserved(key) || !isWellFormed(key, value)) {
      announce(key, null, isReserved(key) ? 'kept for the platform' : 'not a label');
      return [];
    }
    const tidy = key === COUNTRY ? value.toUpperCase() : value;
    if (tidy !== value) announce(key, tidy, 'countries are written in capitals');
    return [[key, tidy]];
  });
  return { labels: Object.fromEntries(kept), alterations };
}
