import { Type } from 'typebox';

import { annotate, type FieldRules, mapSchema, rule } from '../rule/index.js';
import { isCredential } from './credential.js';
import type { WorkloadContext as Context } from './context.js';

const VARIABLES_MAX = 512;
const VALUE_MAX = 32_768;
const NAME = /^[A-Za-z_.-][A-Za-z0-9_.-]{0,254}$/;

type Environment = Readonly<Record<string, string>>;

export const environmentSchema = mapSchema(
  Type.String({
    maxLength: VALUE_MAX,
    pattern: '^[^\\u0000]*$',
    ...annotate({
      'x-redact': true,
      'x-expected': `a string without NUL, of at most ${VALUE_MAX} characters; numbers and booleans in quotes`,
    }),
  }),
  {
    maxProperties: VARIABLES_MAX,
    ...annotate({ 'x-redact': true, 'x-expected': `a map of at most ${VARIABLES_MAX} strings` }),
  },
);

/** The names of variables, whichever field they are set in. */
export const environmentNamesRule = rule(
  'environment_name_invalid',
  (environment: Environment, at, _context: Context, refuse) =>
    Object.keys(environment)
      .filter(name => !NAME.test(name))
      .map(name => refuse(at.child(name), name)),
);

const holdsNoCredential = rule(
  'plaintext_credential_in_environment',
  (environment: Environment, at, context: Context, refuse) =>
    Object.entries(environment)
      .filter(([name, value]) => isCredential(name, value))
      .map(([name, value]) => refuse(at.child(name), value, { name: context.name })),
);

export const environmentRules: FieldRules<Context> = {
  field: 'environment',
  present: [holdsNoCredential, environmentNamesRule],
};
