import { Type } from 'typebox';

import { isLabelKey, isLabelValue } from '../grammar/index.js';
import { annotate, type FieldRules, mapOf, rule } from '../rule/index.js';
import type { Context } from './limits.js';

const LABELS_MAX = 64;
type Labels = Readonly<Record<string, string>>;

export const labelsSchema = mapOf(Type.String({ maxLength: 1024, ...annotate({ 'x-reject': 'label_invalid' }) }), {
  maxProperties: LABELS_MAX,
});

/** The platform, the engine and the router steer by labels that begin like this. */
const RESERVED = ['mooring.io/', 'com.docker.', 'traefik.'] as const;

const labelsAreFree = rule('label_reserved', (labels: Labels, at, _context: Context, refuse) =>
  Object.keys(labels)
    .filter(isReserved)
    .map(key => refuse(at.child(key), key, { prefixes: RESERVED })),
);

/** Also `sub.mooring.io/x` and `traefik/x`: whoever reads labels loosely must not be led astray either. */
function isReserved(key: string): boolean {
  const plain = key.toLowerCase();
  const domain = plain.split('/', 1)[0] ?? '';
  return (
    RESERVED.some(prefix => plain.startsWith(prefix)) || domain.endsWith('.mooring.io') || domain.startsWith('traefik')
  );
}

const labelsAreWellFormed = rule('label_invalid', (labels: Labels, at, _context: Context, refuse) =>
  Object.entries(labels)
    .filter(([key, value]) => !isLabelKey(key) || !isLabelValue(value))
    .map(([key, value]) => refuse(at.child(key), isLabelKey(key) ? value : key)),
);

export const labelsRules: FieldRules<Context> = { field: 'labels', present: [labelsAreFree, labelsAreWellFormed] };
