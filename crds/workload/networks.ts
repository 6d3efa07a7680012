import { Type } from 'typebox';

import { annotate, type FieldRules, rule } from '../rule/index.js';
import type { WorkloadContext as Context } from './context.js';

const NETWORKS_MAX = 16;

export const networksSchema = Type.Array(
  Type.String({ minLength: 1, maxLength: 63, ...annotate({ 'x-expected': 'the name of a network' }) }),
  { maxItems: NETWORKS_MAX, ...annotate({ 'x-expected': `a list of at most ${NETWORKS_MAX} names of networks` }) },
);

const networksExist = rule('network_not_found', (names: readonly string[], at, { facts }: Context, refuse) =>
  names.flatMap((name, position) =>
    facts.networks.includes(name) ? [] : refuse(at.index(position), name, { known: facts.networks }),
  ),
);

const networksAreDistinct = rule('field_invalid', (names: readonly string[], at, _context: Context, refuse) =>
  names.flatMap((name, position) =>
    names.indexOf(name) === position ? [] : refuse(at.index(position), name, { wanted: 'each network once' }),
  ),
);

export const networksRules: FieldRules<Context> = { field: 'networks', present: [networksExist, networksAreDistinct] };
