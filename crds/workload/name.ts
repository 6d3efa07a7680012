import { Type } from 'typebox';

import { DNS_LABEL_MAX, isDnsLabelText } from '../grammar/index.js';
import { annotate, type FieldRules, rule } from '../rule/index.js';
import type { WorkloadContext as Context } from './context.js';

export const nameSchema = Type.String({ maxLength: DNS_LABEL_MAX, ...annotate({ 'x-rules': true }) });

const nameIsThere = rule('name_required', (name: unknown, at, _context: Context, refuse) =>
  name === undefined || name === '' ? refuse(at, name) : undefined,
);

const nameStays = rule('field_immutable', (name: unknown, at, { stored }: Context, refuse) =>
  stored === undefined || name === stored.name ? undefined : refuse(at, name, { current: stored.name }),
);

const nameIsDnsLabel = rule('deployment_name_invalid', (name: unknown, at, _context: Context, refuse) =>
  typeof name === 'string' && isDnsLabelText(name) ? undefined : refuse(at, name),
);

const nameIsShort = rule('deployment_name_too_long', (name: unknown, at, _context: Context, refuse) =>
  typeof name === 'string' && name.length > DNS_LABEL_MAX ? refuse(at, name, { max: DNS_LABEL_MAX }) : undefined,
);

const nameIsFree = rule('reserved_infrastructure_name', (name: unknown, at, { limits }: Context, refuse) =>
  typeof name === 'string' && limits.reservedNames.includes(name)
    ? refuse(at, name, { reserved: limits.reservedNames })
    : undefined,
);

export const nameRules: FieldRules<Context> = {
  field: 'name',
  absent: nameIsThere,
  present: [nameIsThere, nameStays, nameIsDnsLabel, nameIsShort, nameIsFree],
};
