import { type Static, Type } from 'typebox';

import {
  type Admission,
  annotate,
  recordAlterations,
  createValidator,
  dnsLabelSchema,
  type FieldRules,
  labelsSchema,
  nodeReferenceSchema,
  toCheckFailure,
  rule,
} from '../rule/index.js';
import { isLabelKey, isLabelValue, isReservedLabel, RESERVED_LABELS } from '../grammar/index.js';
import type { Metadata } from '../meta/index.js';
import type { Reason } from '../reasons/index.js';

/** A network on one node, as it is stored. */
export interface Network {
  readonly name: string;
  readonly driver: 'bridge';
  readonly labels: Readonly<Record<string, string>>;
  /** Whether it leads nowhere but to its own containers. */
  readonly internal: boolean;
  /** Always an id. */
  readonly nodeId: string;
}

/** `networks/<tenant>/<name>`. `metadata` is the first key, so that answers can be spliced from the bytes. */
export interface StoredNetwork extends Network {
  readonly metadata: Metadata;
}

/** A network as the agent of its node gets it: nothing else of it leaves the control plane. */
export type AssignedNetwork = Pick<Network, 'name' | 'driver' | 'labels' | 'internal'>;

/** The label that distinguishes a network from an earlier one of the same name. */
export const NETWORK_UID_LABEL = 'mooring.io/network-uid';

export function toAssignedNetwork({ name, driver, labels, internal, metadata }: StoredNetwork): AssignedNetwork {
  return { name, driver, labels: { ...labels, [NETWORK_UID_LABEL]: metadata.uid }, internal };
}

/** What an agent has seen of one network of its node. */
export interface SeenNetwork {
  readonly uid: string;
  readonly state: 'ready' | 'failed';
  /** What the engine says of one that failed. */
  readonly message?: string;
}

/** `network-reports/<tenant>/<name>`. */
export interface NetworkReport extends SeenNetwork {
  readonly at: string;
}

/** `network-status/<tenant>/<name>`. */
export interface NetworkStatus {
  /** Of the network. */
  readonly uid: string;
  /** `unknown`: its node sends no heartbeats, or the engine of that does not answer. */
  readonly state: 'pending' | 'ready' | 'failed' | 'unknown';
  readonly reason: Reason;
  readonly message: string;
  /** The name of its node; absent when that is no longer enrolled. */
  readonly node?: string;
  readonly since: string;
  /** The state that its newest event announced; absent before the first. */
  readonly announced?: 'ready' | 'failed';
}

/** What the API has looked up. */
export interface NetworkFacts {
  readonly nodes: 'unreadable' | readonly { readonly id: string; readonly name: string }[];
}

const LISTED = 20;

/** `POST /api/v1/networks`. */
export const networkSchema = Type.Object(
  {
    name: dnsLabelSchema,
    driver: Type.Optional(Type.Literal('bridge', annotate({ 'x-reject': 'network_option_unsupported_on_agent' }))),
    labels: Type.Optional(labelsSchema),
    internal: Type.Optional(Type.Boolean()),
    nodeId: Type.Optional(nodeReferenceSchema),
  },
  { additionalProperties: false, ...annotate({ 'x-unknown': 'network_option_unsupported_on_agent' }) },
);

const nodesAreKnown = rule(
  'network_node_candidates_unresolvable',
  (nodeId: unknown, at, refuse, facts: NetworkFacts) => {
    if (facts.nodes === 'unreadable') return refuse(at, nodeId, { nodes: 'unreadable' });
    return facts.nodes.length === 0 ? refuse(at, nodeId, { nodes: 'none' }) : undefined;
  },
);

const nodeIsNamed = rule('network_node_required', (nodeId: unknown, at, refuse, { nodes }: NetworkFacts) =>
  nodeId === undefined && nodes !== 'unreadable' && nodes.length > 1
    ? refuse(at, nodeId, { nodes: listNames(nodes) })
    : undefined,
);

const nodeIsCandidate = rule('network_node_not_a_candidate', (nodeId: unknown, at, refuse, { nodes }: NetworkFacts) => {
  if (nodes === 'unreadable' || nodes.some(node => node.id === nodeId || node.name === nodeId)) return undefined;
  return refuse(at, nodeId, { nodes: listNames(nodes) });
});

function listNames(nodes: readonly { readonly name: string }[]): readonly string[] {
  return nodes.slice(0, LISTED).map(({ name }) => name);
}

const absentNode = {
  code: nodesAreKnown.code,
  check: (...given: Parameters<typeof nodesAreKnown.check>) =>
    nodesAreKnown.check(...given) ?? nodeIsNamed.check(...given),
};

const labelsAreFree = rule('label_reserved', (labels: Readonly<Record<string, string>>, at, refuse) =>
  Object.keys(labels)
    .filter(isReservedLabel)
    .map(key => refuse(at.child(key), key, { prefixes: RESERVED_LABELS })),
);

const labelsAreWellFormed = rule('label_invalid', (labels: Readonly<Record<string, string>>, at, refuse) =>
  Object.entries(labels)
    .filter(([key, value]) => !isLabelKey(key) || !isLabelValue(value))
    .map(([key, value]) => refuse(at.child(key), isLabelKey(key) ? value : key)),
);

const fields: readonly FieldRules<NetworkFacts>[] = [
  { field: 'name', present: [] },
  { field: 'driver', present: [] },
  { field: 'labels', present: [labelsAreFree, labelsAreWellFormed] },
  { field: 'internal', present: [] },
  { field: 'nodeId', absent: absentNode, present: [nodesAreKnown, nodeIsCandidate] },
];

const validate = createValidator(networkSchema, fields);

/** Judges a document that asks for a new network. */
export function admitNetwork(document: unknown, facts: NetworkFacts): Admission<Network> {
  const refused = toCheckFailure(validate(document, () => facts));
  if (refused) return refused;

  const { alterations, announce } = recordAlterations();
  const sent = document as Static<typeof networkSchema>;
  const nodes = facts.nodes === 'unreadable' ? [] : facts.nodes;
  const node = nodes.find(({ id, name }) => id === sent.nodeId || name === sent.nodeId) ?? nodes[0]!;
  const spec: Network = {
    name: sent.name,
    driver: 'bridge',
    labels: sent.labels ?? {},
    internal: sent.internal ?? false,
    nodeId: node.id,
  };
  for (const part of ['driver', 'labels', 'internal'] as const) {
    if (sent[part] === undefined) announce(part, null, spec[part], 'default');
  }
  if (sent.nodeId !== node.id) {
    const why = sent.nodeId === undefined ? 'the only node' : 'the id of the node of that name';
    announce('nodeId', sent.nodeId, node.id, why);
  }
  return { ok: true, spec, alterations, warnings: [] };
}
