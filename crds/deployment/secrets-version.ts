import { Type } from 'typebox';

import { annotate, type FieldRules, rule } from '../rule/index.js';
import type { DeploymentContext } from './limits.js';

export const secretsVersionSchema = Type.Integer({
  minimum: 0,
  ...annotate({ 'x-rules': true, 'x-expected': 'an integer of 0 or more, or no secretsVersion' }),
});

const versionNotNegative = rule(
  'secrets_version_negative',
  (version: unknown, at, _context: DeploymentContext, refuse) =>
    typeof version === 'number' && version < 0 ? refuse(at, version) : undefined,
);

export const secretsVersionRules: FieldRules<DeploymentContext> = {
  field: 'secretsVersion',
  present: [versionNotNegative],
};
