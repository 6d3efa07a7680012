import { Type } from 'typebox';

import { annotate, type FieldRules, rule } from '../rule/index.js';
import type { KnownNetwork, WorkloadContext as Context } from './context.js';

const NETWORKS_MAX = 16;

export const networksSchema = Type.Array(
  Type.String({ minLength: 1, maxLength: 63, ...annotate({ 'x-expected': 'the name of a network' }) }),
  { maxItems: NETWORKS_MAX, ...annotate({ 'x-expected': `a list of at most ${NETWORKS_MAX} names of networks` }) },
);

const find = (name: string, { facts }: Context): KnownNetwork | undefined =>
  facts.networks.find(network => network.name === name);

const networksExist = rule('network_not_found', (names: readonly string[], at, refuse, context: Context) =>
  names.flatMap((name, position) =>
    find(name, context)
      ? []
      : refuse(at.index(position), name, { known: context.facts.networks.map(network => network.name) }),
  ),
);

const networksAreDistinct = rule('field_invalid', (names: readonly string[], at, refuse) =>
  names.flatMap((name, position) =>
    names.indexOf(name) === position ? [] : refuse(at.index(position), name, { wanted: 'each network once' }),
  ),
);

export const networksRules: FieldRules<Context> = { field: 'networks', present: [networksExist, networksAreDistinct] };

const networksShareNode = rule('network_on_another_node', (names: readonly string[], at, refuse, context: Context) => {
  const { facts, document } = context;
  const nodes = facts.nodes === 'unreadable' ? [] : facts.nodes;
  const nameNode = (id: string) => nodes.find(node => node.id === id)?.name ?? id;
  const asked = nodes.find(({ id, name }) => id === document['nodeId'] || name === document['nodeId'])?.id;
  const first = names.map(name => find(name, context)).find(network => network !== undefined);
  const only = asked ?? first?.nodeId;
  if (only === undefined) return undefined;
  return names.flatMap((name, position) => {
    const network = find(name, context);
    if (!network || network.nodeId === only) return [];
    return refuse(at.index(position), name, { node: nameNode(only), other: nameNode(network.nodeId) });
  });
});

/** A container is on one node, so all its networks must be there. Asked when either changes. */
export const networkNodeRules: FieldRules<Context> = {
  field: 'networks',
  with: ['nodeId'],
  present: [networksShareNode],
};

const internalPublishesNothing = rule(
  'network_internal_port',
  (names: readonly string[], at, refuse, context: Context) => {
    const { ports } = context.document;
    const publishes =
      Array.isArray(ports) && ports.some(port => Number.isInteger((port as { hostPort?: unknown } | null)?.hostPort));
    const isClosed = names.length > 0 && names.every(name => find(name, context)?.internal === true);
    return publishes && isClosed ? refuse(at, names.join(', ')) : undefined;
  },
);

/** What only has internal networks cannot be reached from outside. Asked when either changes. */
export const networkPortRules: FieldRules<Context> = {
  field: 'networks',
  with: ['ports'],
  present: [internalPublishesNothing],
};
