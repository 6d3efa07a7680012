import { type Static, Type } from 'typebox';

import { FieldPath, formatPortRange, isPortWithin } from '../grammar/index.js';
import { type Announce, annotate, type FieldError, type FieldRules, rule } from '../rule/index.js';
import type { DeploymentContext, DeploymentFacts, Port } from './deployment.js';

export const kindSchema = Type.Literal('Deployment', annotate({ 'x-rules': true }));

const kindIsDeployment = rule('manifest_wrong_kind', (kind: unknown, at, refuse) =>
  kind === 'Deployment' ? undefined : refuse(at, kind, { kind: 'Deployment' }),
);

export const kindRules: FieldRules<DeploymentContext> = {
  field: 'kind',
  absent: kindIsDeployment,
  present: [kindIsDeployment],
};

export const replicasSchema = Type.Integer({ minimum: 0, ...annotate({ 'x-rules': true }) });

const replicasNotNegative = rule('replicas_negative', (replicas: unknown, at, refuse, { limits }: DeploymentContext) =>
  typeof replicas === 'number' && replicas < 0 ? refuse(at, replicas, { max: limits.maxReplicas }) : undefined,
);

const replicasInRange = rule('replicas_out_of_range', (replicas: unknown, at, refuse, { limits }: DeploymentContext) =>
  Number.isInteger(replicas) && (replicas as number) <= limits.maxReplicas
    ? undefined
    : refuse(at, replicas, { max: limits.maxReplicas }),
);

export const replicasRules: FieldRules<DeploymentContext> = {
  field: 'replicas',
  present: [replicasNotNegative, replicasInRange],
};

export const secretsVersionSchema = Type.Integer({
  minimum: 0,
  ...annotate({ 'x-rules': true, 'x-expected': 'an integer of 0 or more, or no secretsVersion' }),
});

const versionNotNegative = rule('secrets_version_negative', (version: unknown, at, refuse) =>
  typeof version === 'number' && version < 0 ? refuse(at, version) : undefined,
);

export const secretsVersionRules: FieldRules<DeploymentContext> = {
  field: 'secretsVersion',
  present: [versionNotNegative],
};

/** Most node names that a refusal lists. */
const LISTED = 20;

const nodesAreKnown = rule(
  'node_candidates_unresolvable',
  (nodeId: string, at, refuse, { facts }: DeploymentContext) => {
    if (facts.nodes === 'unreadable') return refuse(at, nodeId, { nodes: 'unreadable' });
    return facts.nodes.length === 0 ? refuse(at, nodeId, { nodes: 'none' }) : undefined;
  },
);

const nodeIsCandidate = rule(
  'node_not_a_placement_candidate',
  (nodeId: string, at, refuse, { facts }: DeploymentContext) => {
    if (facts.nodes === 'unreadable') return undefined;
    if (facts.nodes.some(node => node.id === nodeId || node.name === nodeId)) return undefined;
    return refuse(at, nodeId, { nodes: facts.nodes.slice(0, LISTED).map(node => node.name) });
  },
);

export const nodeIdRules: FieldRules<DeploymentContext> = {
  field: 'nodeId',
  present: [nodesAreKnown, nodeIsCandidate],
};

const PORTS_MAX = 64;
const invalid = annotate({ 'x-reject': 'port_invalid' });
const number = Type.Integer({ minimum: 1, maximum: 65_535, ...invalid });

export const portsSchema = Type.Array(
  Type.Object(
    {
      containerPort: number,
      hostPort: Type.Optional(number),
      protocol: Type.Optional(Type.Enum(['tcp', 'udp'], { type: 'string', ...invalid })),
    },
    { additionalProperties: false, ...invalid },
  ),
  { maxItems: PORTS_MAX },
);

/** Ports as a client may send them. */
export type PortsInput = Static<typeof portsSchema>;

const portsAreDistinct = rule('port_duplicate', (ports: PortsInput, at, refuse) => {
  if (ports.length < 2) return undefined;
  const repeated = (which: 'containerPort' | 'hostPort'): FieldError[] =>
    repeats(ports.map(port => port[which] && `${port[which]}/${port.protocol ?? 'tcp'}`)).map(position =>
      refuse(place(at, position, which), ports[position]?.[which]),
    );
  return [...repeated('containerPort'), ...repeated('hostPort')];
});

function place(at: FieldPath, position: number, name: string): FieldPath {
  return at.index(position).child(name);
}

/** Positions of entries that stand further left already. */
function repeats(values: readonly (string | number | undefined)[]): number[] {
  const seen = new Set<unknown>();
  return values.flatMap((value, position) => {
    if (value === undefined) return [];
    if (seen.has(value)) return [position];
    seen.add(value);
    return [];
  });
}

const hostPortsAreFree = rule('host_port_reserved', (ports: PortsInput, at, refuse, { limits }: DeploymentContext) =>
  ports.flatMap(({ hostPort }, position) =>
    hostPort !== undefined && isPortWithin(hostPort, limits.reservedHostPorts)
      ? [refuse(place(at, position, 'hostPort'), hostPort, { reserved: limits.reservedHostPorts.map(formatPortRange) })]
      : [],
  ),
);

export const portsRules: FieldRules<DeploymentContext> = {
  field: 'ports',
  present: [portsAreDistinct, hostPortsAreFree],
};

/** The ports to store: the protocol filled in, announced. */
export function completePorts(ports: PortsInput, announce: Announce): readonly Port[] {
  return ports.map((port, position) => {
    const { protocol } = port;
    if (protocol !== undefined) return { ...port, protocol };
    announce(FieldPath.root.child('ports').index(position).child('protocol'), null, 'tcp', 'default');
    return { ...port, protocol: 'tcp' };
  });
}

/** The id of the named node; a name that was sent is announced. */
export function completeNodeId(nodeId: string, announce: Announce, { facts }: { facts: DeploymentFacts }): string {
  const { nodes } = facts;
  if (nodes === 'unreadable' || nodes.some(node => node.id === nodeId)) return nodeId;
  const named = nodes.find(node => node.name === nodeId);
  if (!named) return nodeId;
  announce('nodeId', nodeId, named.id, 'the id of the node of that name');
  return named.id;
}

/** The version that is stored stays, whatever was sent. */
export function completeSecretsVersion(
  sent: number | undefined,
  announce: Announce,
  { secretsVersion: stored }: { readonly secretsVersion: number },
): number {
  if (sent !== stored) {
    announce('secretsVersion', sent, stored, sent === undefined ? 'default' : 'only the rotation operation raises it');
  }
  return stored;
}
