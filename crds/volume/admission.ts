import { type Static, Type } from 'typebox';

import { FieldPath, formatBytes, formatCount } from '../grammar/index.js';
import {
  checkResidency,
  completeResidency,
  type Regions,
  residencyRules,
  residencySchema,
} from '../residency/index.js';
import {
  type Admission,
  annotate,
  type CheckResult,
  createValidator,
  dnsLabelSchema,
  type FieldRules,
  isBroken,
  nodeReferenceSchema,
  recordAlterations,
  type Relation,
  rule,
  toCheckFailure,
  type Warning,
} from '../rule/index.js';
import type { KnownVolume, VolumeSpec } from './volume.js';

/** A node of the tenant. */
export interface VolumeNode {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Why it takes no copies of the volume, after "the node is". */
  readonly noCopies?: string | undefined;
}

/** What the API has looked up. */
export interface VolumeFacts {
  readonly nodes: 'unreadable' | readonly VolumeNode[];
  readonly regions: Regions;
}

/** Copies of a replicated volume, unless the document says otherwise. */
const REPLICAS_DEFAULT = 1;
export const VOLUME_REPLICAS_MAX = 20;
export const VOLUME_SIZE_MIN = 2 ** 20;
export const VOLUME_SIZE_MAX = 2 ** 50;
const LISTED = 20;

const ONLY_VOLUMES_ARE_REPLICATED: Relation = {
  field: 'type',
  forbidden: {
    all: [
      { field: 'type', isOneOf: ['tmpfs', 'bind'] },
      { field: 'class', isOneOf: ['replicated'] },
    ],
  },
  wanted: 'volume: neither memory nor a folder of one machine is replicated',
};

const ONLY_REPLICATED_HAS_COPIES: Relation = {
  field: 'replicas',
  forbidden: { all: [{ has: 'replicas' }, { has: 'class' }, { not: { field: 'class', isOneOf: ['replicated'] } }] },
  wanted: 'nothing, unless the class is replicated',
};

/** `POST /api/v1/dvm/volumes`. */
export const volumeSchema = Type.Object(
  {
    name: dnsLabelSchema,
    class: Type.Enum(['ephemeral', 'replicated', 'object'], { type: 'string' }),
    type: Type.Optional(Type.Enum(['volume', 'bind', 'tmpfs'], { type: 'string' })),
    sizeBytes: Type.Integer({
      minimum: VOLUME_SIZE_MIN,
      maximum: VOLUME_SIZE_MAX,
      ...annotate({ 'x-expected': `an integer from ${VOLUME_SIZE_MIN} to ${VOLUME_SIZE_MAX}` }),
    }),
    accessMode: Type.Optional(
      Type.Literal('ReadWriteOnce', { type: 'string', ...annotate({ 'x-expected': 'ReadWriteOnce' }) }),
    ),
    replicas: Type.Optional(Type.Integer({ minimum: 1, maximum: VOLUME_REPLICAS_MAX })),
    primaryNode: Type.Optional(nodeReferenceSchema),
    residency: Type.Optional(residencySchema),
  },
  {
    additionalProperties: false,
    ...annotate({ 'x-relations': [ONLY_VOLUMES_ARE_REPLICATED, ONLY_REPLICATED_HAS_COPIES] }),
  },
);

interface Context {
  readonly facts: VolumeFacts;
  readonly document: Readonly<Record<string, unknown>>;
}

const typeFitsClass = rule('field_invalid', (type: unknown, at, refuse, { document }: Context) =>
  isBroken(ONLY_VOLUMES_ARE_REPLICATED, document)
    ? refuse(at, type, { wanted: ONLY_VOLUMES_ARE_REPLICATED.wanted })
    : undefined,
);

const onlyReplicatedHasCopies = rule(
  'volume_replica_unsupported',
  (replicas: unknown, at, refuse, { document }: Context) =>
    isBroken(ONLY_REPLICATED_HAS_COPIES, document) ? refuse(at, replicas) : undefined,
);

const nodesAreKnown = rule('node_candidates_unresolvable', (node: unknown, at, refuse, { facts }: Context) => {
  if (facts.nodes === 'unreadable') return refuse(at, node, { nodes: 'unreadable' });
  return facts.nodes.length === 0 ? refuse(at, node, { nodes: 'none' }) : undefined;
});

const nodeIsCandidate = rule('node_not_a_placement_candidate', (node: unknown, at, refuse, { facts }: Context) => {
  if (facts.nodes === 'unreadable' || facts.nodes.some(({ id, name }) => id === node || name === node))
    return undefined;
  return refuse(at, node, { nodes: facts.nodes.slice(0, LISTED).map(({ name }) => name) });
});

const fields: readonly FieldRules<Context>[] = [
  { field: 'name', present: [] },
  { field: 'class', present: [] },
  { field: 'type', present: [typeFitsClass] },
  { field: 'sizeBytes', present: [] },
  { field: 'accessMode', present: [] },
  { field: 'replicas', present: [onlyReplicatedHasCopies] },
  { field: 'primaryNode', present: [nodesAreKnown, nodeIsCandidate] },
  { field: 'residency', present: [...residencyRules] },
];

const validateVolume = createValidator(volumeSchema, fields);

/** Judges a document that asks for a new volume. */
export function admitVolume(document: unknown, facts: VolumeFacts): Admission<VolumeSpec> {
  const refused = toCheckFailure(validateVolume(document, sound => ({ facts, document: sound.document })));
  if (refused) return refused;

  const { alterations, announce } = recordAlterations();
  const sent = document as Static<typeof volumeSchema>;
  const nodes = facts.nodes === 'unreadable' ? [] : facts.nodes;
  const primary = nodes.find(({ id, name }) => id === sent.primaryNode || name === sent.primaryNode);
  const replicas = sent.replicas ?? (sent.class === 'replicated' ? REPLICAS_DEFAULT : undefined);
  const filled = { type: sent.type ?? 'volume', accessMode: 'ReadWriteOnce' } as const;
  for (const part of ['type', 'accessMode'] as const) {
    if (sent[part] === undefined) announce(part, null, filled[part], 'default');
  }
  if (replicas !== sent.replicas) announce('replicas', null, replicas, 'default');
  if (primary && primary.id !== sent.primaryNode) {
    announce('primaryNode', sent.primaryNode, primary.id, 'the id of the node of that name');
  }
  const residency = sent.residency && completeResidency(sent.residency, FieldPath.root.child('residency'), announce);
  const spec: VolumeSpec = {
    name: sent.name,
    class: sent.class,
    ...filled,
    sizeBytes: sent.sizeBytes,
    ...(replicas !== undefined && { replicas }),
    ...(primary && { primaryNode: primary.id }),
    ...(residency && { residency }),
  };
  return { ok: true, spec, alterations, warnings: [...nodeWarnings(replicas, facts), ...sizeWarnings(spec)] };
}

/** Copies that have no node yet: the volume is stored, and they wait. */
function nodeWarnings(replicas: number | undefined, { nodes }: VolumeFacts): readonly Warning[] {
  if (replicas === undefined || nodes === 'unreadable' || nodes.length > replicas) return [];
  const needed = `${formatCount(replicas, 'replica')} ${replicas === 1 ? 'needs' : 'need'} ${formatCount(replicas + 1, 'node')}`;
  const enrolled = `${nodes.length} ${nodes.length === 1 ? 'is' : 'are'} enrolled`;
  const message = `${needed}, and ${enrolled}: copies without a node wait until more are enrolled`;
  return [{ code: 'volume_replicas_wait_for_nodes', field: 'replicas', message }];
}

/** What a driver makes a volume at least, and in steps of which: its node, and with it the driver, is not known yet. */
const DRIVER_MIN = 128 * 2 ** 20;
const DRIVER_STEP = 2 ** 20;

/** A size that a driver may not be able to make: the quota counts what is asked for, and the status shows what it became. */
function sizeWarnings({ type, sizeBytes }: VolumeSpec): readonly Warning[] {
  if (type !== 'volume' || (sizeBytes >= DRIVER_MIN && sizeBytes % DRIVER_STEP === 0)) return [];
  const taken = Math.ceil(Math.max(sizeBytes, DRIVER_MIN) / DRIVER_STEP) * DRIVER_STEP;
  const message = `its node may make it ${formatBytes(taken)}: the driver btrfs makes whole MiB, and no less than ${formatBytes(DRIVER_MIN)}; quotas count what is asked for`;
  return [{ code: 'volume_size_rounded', field: 'sizeBytes', message }];
}

/** What the API has looked up. */
export interface ReplicaFacts extends VolumeFacts {
  readonly volume: KnownVolume;
}

/** `POST /api/v1/tenants/{tenant}/volumes/{id}/replicas`. */
export const volumeReplicaSchema = Type.Object({ node_id: nodeReferenceSchema }, { additionalProperties: false });

const volumeIsReplicated = rule('volume_replica_unsupported', (node: unknown, at, refuse, { volume }: ReplicaFacts) =>
  volume.class === 'replicated' ? undefined : refuse(at, node),
);

const replicaNodesAreKnown = rule(
  'node_candidates_unresolvable',
  (node: unknown, at, refuse, { nodes }: ReplicaFacts) =>
    nodes === 'unreadable' ? refuse(at, node, { nodes }) : undefined,
);

const nodeCanHoldIt = rule('volume_replica_node_conflict', (node: unknown, at, refuse, facts: ReplicaFacts) => {
  const { free, unable } = siftNodes(facts);
  if (free.some(({ id, name }) => id === node || name === node)) return undefined;
  const others = unable.slice(0, LISTED).map(({ name, because }) => `${name} is ${because}`);
  return refuse(at, node, { nodes: free.slice(0, LISTED).map(({ name }) => name), others });
});

const copiesAreBounded = rule('field_invalid', (node: unknown, at, refuse, { volume }: ReplicaFacts) =>
  (volume.replicas ?? 0) < VOLUME_REPLICAS_MAX
    ? undefined
    : refuse(at, node, { wanted: `at most ${VOLUME_REPLICAS_MAX} copies: remove one first` }),
);

/** The nodes that can hold one more copy, and why each of the others cannot. */
function siftNodes({ nodes, regions, volume }: ReplicaFacts) {
  const all = nodes === 'unreadable' ? [] : nodes;
  const explain = ({ id, labels, noCopies }: VolumeNode): string | undefined => {
    if (id === volume.primaryNode) return 'the node of its primary';
    if (volume.copies.some(({ nodeId }) => nodeId === id)) return 'a node that has a copy, or is still to remove one';
    if (checkResidency(volume.residency ?? {}, labels, regions).length > 0) return 'outside its residency';
    return noCopies;
  };
  const judged = all.map(node => ({ ...node, because: explain(node) }));
  return {
    free: judged.filter(({ because }) => because === undefined),
    unable: judged.filter(({ because }) => because !== undefined),
  };
}

const replicaFields: readonly FieldRules<ReplicaFacts>[] = [
  { field: 'node_id', present: [volumeIsReplicated, replicaNodesAreKnown, copiesAreBounded, nodeCanHoldIt] },
];

const validateReplica = createValidator(volumeReplicaSchema, replicaFields);

/** Judges a request for one more copy; answers the id of the node that is to hold it. */
export function checkVolumeReplica(document: unknown, facts: ReplicaFacts): CheckResult<{ readonly nodeId: string }> {
  const refused = toCheckFailure(validateReplica(document, () => facts));
  if (refused) return refused;
  const asked = (document as { readonly node_id: string }).node_id;
  const node = siftNodes(facts).free.find(({ id, name }) => id === asked || name === asked);
  return { ok: true, value: { nodeId: node!.id } };
}
