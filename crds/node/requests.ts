import { type Static, Type } from 'typebox';

import { FieldPath, isLabelKey, isLabelValue } from '../grammar/index.js';
import { reject, type Rejections } from '../rejections/index.js';
import {
  type Alteration,
  annotate,
  type CheckResult,
  createBodyCheck,
  dnsLabelSchema,
  type FieldRules,
  labelsSchema,
  rule,
  toCheckFailure,
} from '../rule/index.js';
import type { Capacity } from './node.js';

/** More than any machine has: 1024 cores, 64 TiB of memory, 4 PiB of disk. */
const MOST: Capacity = { cpu: 1024 * 1000, memory: 64 * 2 ** 40, disk: 4 * 2 ** 50 };

const amount = Type.Integer({ minimum: 0 });

export const capacitySchema = Type.Object(
  { cpu: amount, memory: amount, disk: amount },
  { additionalProperties: false },
);

/** A capacity that a machine can have: an agent that boasts is brought down to it, announced. */
export function clampCapacity(capacity: Capacity): {
  readonly capacity: Capacity;
  readonly alterations: readonly Alteration[];
} {
  const clamped: Capacity = {
    cpu: Math.min(capacity.cpu, MOST.cpu),
    memory: Math.min(capacity.memory, MOST.memory),
    disk: Math.min(capacity.disk, MOST.disk),
  };
  const alterations = (['cpu', 'memory', 'disk'] as const)
    .filter(part => clamped[part] !== capacity[part])
    .map(part => ({
      field: `capacity.${part}`,
      from: capacity[part],
      to: clamped[part],
      why: 'more than a machine has',
    }));
  return { capacity: clamped, alterations };
}

const PREFIX = 'mooring.io/';
const COUNTRY = `${PREFIX}country`;

/** What an agent may say under the platform's own prefix. */
const OWN: ReadonlySet<string> = new Set([COUNTRY, `${PREFIX}geo-region`]);

type Labels = Readonly<Record<string, string>>;

function isReserved(key: string): boolean {
  const plain = key.toLowerCase();
  return plain.startsWith(PREFIX) && !OWN.has(key);
}

function isWellFormed(key: string, value: string): boolean {
  return isLabelKey(key) && isLabelValue(value) && (key !== COUNTRY || /^[A-Za-z]{2}$/.test(value));
}

const labelsAreFree = rule('node_label_reserved', (labels: Labels, at, refuse) =>
  Object.keys(labels)
    .filter(isReserved)
    .map(key => refuse(at.child(key), key)),
);

const labelsAreWellFormed = rule('label_invalid', (labels: Labels, at, refuse) =>
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

const agentVersion = Type.String({
  pattern: '^[0-9A-Za-z.+-]{1,64}$',
  ...annotate({ 'x-expected': 'a version such as 0.1.0' }),
});

/** SPKI in DER always begins with the same twelve bytes for Ed25519. */
const publicKey = Type.String({
  pattern: '^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$',
  ...annotate({ 'x-expected': 'an Ed25519 public key, SPKI in DER, in base64' }),
});

const proof = Type.String({
  pattern: '^[A-Za-z0-9+/]{86}==$',
  ...annotate({ 'x-expected': 'an Ed25519 signature in base64', 'x-redact': true }),
});

/** `POST /api/v1/nodes`. */
export const enrolmentSchema = Type.Object(
  {
    nodeName: dnsLabelSchema,
    labels: labelsSchema,
    capacity: capacitySchema,
    publicKey,
    agentVersion,
    controlPlane: Type.Optional(Type.Boolean()),
    proof,
  },
  { additionalProperties: false },
);

const conditionSchema = Type.Object(
  {
    type: Type.String({
      pattern: '^[A-Z][A-Za-z]{0,63}$',
      ...annotate({ 'x-expected': 'a word such as LinkLocalBlocked' }),
    }),
    status: Type.Enum(['True', 'False', 'Unknown'], { type: 'string' }),
    reason: Type.String({
      pattern: '^[a-z][a-z0-9_]{0,63}$',
      ...annotate({ 'x-expected': 'a word such as firewall_rule' }),
    }),
    message: Type.String({ maxLength: 512 }),
  },
  { additionalProperties: false },
);

const engineWord = Type.String({
  pattern: '^[0-9A-Za-z.+~_ -]{1,64}$',
  ...annotate({ 'x-expected': 'a name or a version such as 27.5.1' }),
});

const engineSchema = Type.Object({ name: engineWord, version: engineWord }, { additionalProperties: false });

const HOST = '(?:\\[[0-9A-Fa-f:.]{2,45}\\]|[0-9A-Za-z](?:[0-9A-Za-z.-]{0,251}[0-9A-Za-z])?)';
const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])';

const volumeAddress = Type.String({
  pattern: `^${HOST}:${PORT}$`,
  ...annotate({ 'x-expected': 'host:port such as 10.0.0.7:7071 or [fd00::7]:7071' }),
});

const feature = Type.String({
  pattern: '^[a-z][a-z0-9_]{0,63}$',
  ...annotate({ 'x-expected': 'a word such as host_ports' }),
});

/** Containers whose usage one heartbeat reports. */
export const USAGE_MAX = 1000;

const usageSchema = Type.Object(
  { replica: Type.String({ pattern: '^[0-9a-f-]{36}$' }), cpu: amount, memory: amount },
  { additionalProperties: false },
);

/** Of each kind of thing that would go when the agent does what a store says that was set back. */
export const SET_BACK_MAX = 100;

const moment = Type.Object(
  {
    revision: amount,
    restoreEpoch: amount,
    proof: Type.String({ pattern: '^[0-9a-f]{64}$', ...annotate({ 'x-expected': 'the proof of a server, in hex' }) }),
  },
  { additionalProperties: false },
);

const volumeIds = Type.Array(
  Type.String({ pattern: '^vol_[0-9a-z]{26}$', ...annotate({ 'x-expected': 'the id of a volume' }) }),
  {
    maxItems: SET_BACK_MAX,
  },
);

const setBackSchema = Type.Object(
  {
    seen: Type.Optional(moment),
    containers: Type.Array(
      Type.String({ pattern: '^[0-9A-Za-z._-]{1,128}/[0-9]{1,9}$', ...annotate({ 'x-expected': 'deployment/slot' }) }),
      { maxItems: SET_BACK_MAX },
    ),
    removed: volumeIds,
    demoted: volumeIds,
    discarded: volumeIds,
    newer: volumeIds,
    unknown: volumeIds,
    secrets: Type.Array(
      Type.String({
        pattern: '^[0-9A-Za-z._-]{1,128}/[0-9A-Za-z._-]{1,128}@[0-9]{1,9}$',
        ...annotate({ 'x-expected': '<namespace>/<label>@<version>' }),
      }),
      { maxItems: SET_BACK_MAX },
    ),
    more: Type.Optional(amount),
    digest: Type.String({ pattern: '^[0-9a-f]{32}$', ...annotate({ 'x-expected': 'a digest in hex' }) }),
  },
  { additionalProperties: false },
);

/** Removed volumes that one heartbeat lists. */
export const REMOVED_MAX = 100;

const removedVolumeSchema = Type.Object(
  {
    name: Type.String({
      pattern: '^vol_[0-9a-z]{26}\\.[1-9][0-9]{0,8}$',
      ...annotate({ 'x-expected': 'the id of a volume and a number' }),
    }),
    volume: Type.Optional(dnsLabelSchema),
    bytes: amount,
    until: Type.String({ maxLength: 32, ...annotate({ 'x-expected': 'a time' }) }),
  },
  { additionalProperties: false },
);

const removedVolumesSchema = Type.Object(
  { volumes: Type.Array(removedVolumeSchema, { maxItems: REMOVED_MAX }), more: Type.Optional(amount) },
  { additionalProperties: false },
);

/** `POST /agent/v1/heartbeat`. */
export const heartbeatSchema = Type.Object(
  {
    labels: labelsSchema,
    capacity: capacitySchema,
    agentVersion,
    controlPlane: Type.Optional(Type.Boolean()),
    conditions: Type.Optional(Type.Array(conditionSchema, { maxItems: 16 })),
    engine: Type.Optional(engineSchema),
    volumeAddress: Type.Optional(volumeAddress),
    volumeDriver: Type.Optional(feature),
    lacks: Type.Optional(Type.Array(feature, { maxItems: 32 })),
    containersSeenMsAgo: Type.Optional(Type.Integer({ minimum: 0 })),
    usage: Type.Optional(Type.Array(usageSchema, { maxItems: USAGE_MAX })),
    removedVolumes: Type.Optional(removedVolumesSchema),
    setBack: Type.Optional(setBackSchema),
  },
  { additionalProperties: false },
);

/** `POST /agent/v1/token`. */
export const renewalSchema = Type.Object(
  {
    nodeId: Type.String({ pattern: '^node_[0-9a-hjkmnp-tv-z]{26}$', ...annotate({ 'x-expected': 'a node id' }) }),
    at: Type.Integer({ minimum: 0, ...annotate({ 'x-expected': 'milliseconds since 1970' }) }),
    proof,
  },
  { additionalProperties: false },
);

/** `POST /agent/v1/gone-nodes`: an agent asks which nodes, whose containers it has found, its tenant no longer has. */
export const goneNodesRequestSchema = Type.Object(
  {
    ids: Type.Array(Type.String({ pattern: '^node_[0-9A-Za-z_]{1,59}$', ...annotate({ 'x-expected': 'a node id' }) }), {
      maxItems: 100,
    }),
  },
  { additionalProperties: false },
);

/** `POST /agent/v1/doubles`: an agent that was refused asks which of its containers double those of the agent that has its node. */
export const doublesRequestSchema = Type.Object(
  {
    containers: Type.Array(
      Type.Object(
        { replica: Type.String({ maxLength: 64 }), containerId: Type.String({ maxLength: 128 }) },
        { additionalProperties: false },
      ),
      { maxItems: 500 },
    ),
  },
  { additionalProperties: false },
);

/** `POST /agent/v1/gone-deployments`: an agent asks which deployments, whose logs it has kept, its tenant no longer has. */
export const goneDeploymentsRequestSchema = Type.Object(
  {
    uids: Type.Array(
      Type.String({ pattern: '^[0-9A-Za-z_]{1,64}$', ...annotate({ 'x-expected': 'the id of a deployment' }) }),
      { maxItems: 200 },
    ),
  },
  { additionalProperties: false },
);

/** `POST /api/v1/nodes/join-tokens`. */
export const joinTokenRequestSchema = Type.Object(
  { nodeName: Type.Optional(dnsLabelSchema) },
  { additionalProperties: false },
);

/** `POST /api/v1/nodes`. */
export type Enrolment = Static<typeof enrolmentSchema>;

/** `POST /agent/v1/heartbeat`. */
export type NodeHeartbeat = Static<typeof heartbeatSchema>;

/** A body that may be used as it stands here, with every difference from what was sent. */
export type NormalizeResult<Value> =
  | { readonly ok: true; readonly value: Value; readonly alterations: readonly Alteration[] }
  | { readonly ok: false; readonly rejections: Rejections };

const enrolment = createBodyCheck(enrolmentSchema, [nodeLabelRules]);
const heartbeat = createBodyCheck(heartbeatSchema);

/** Checks what a machine says that wants to join. */
export const checkEnrolment = (document: unknown): NormalizeResult<Enrolment> => tidied(enrolment(document));

/** Checks a heartbeat. Labels that may not stand are left out, not refused. */
export const checkHeartbeat = (document: unknown): NormalizeResult<NodeHeartbeat> => tidied(heartbeat(document));

/** Checks `POST /agent/v1/token`. */
export const checkRenewal = createBodyCheck(renewalSchema);

/** Checks `POST /agent/v1/gone-nodes`. */
export const checkGoneNodesRequest = createBodyCheck(goneNodesRequestSchema);

/** Checks `POST /agent/v1/doubles`. */
export const checkDoublesRequest = createBodyCheck(doublesRequestSchema);

/** Checks `POST /agent/v1/gone-deployments`. */
export const checkGoneDeploymentsRequest = createBodyCheck(goneDeploymentsRequestSchema);

/** Checks `POST /api/v1/nodes/join-tokens`. */
export const checkJoinTokenRequest = createBodyCheck(joinTokenRequestSchema);

function tidied<Value extends { labels: Record<string, string>; capacity: Capacity }>(
  checked: CheckResult<Value>,
): NormalizeResult<Value> {
  if (!checked.ok) return checked;
  const { labels, alterations } = normalizeLabels(checked.value.labels);
  const { capacity, alterations: clamped } = clampCapacity(checked.value.capacity);
  return { ok: true, value: { ...checked.value, labels, capacity }, alterations: [...alterations, ...clamped] };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Judges `DELETE /api/v1/nodes/{nodeName}/claim`: it must name the tenant whose claim is released. */
export function checkClaimRelease(tenantHeader: string | undefined): CheckResult<{ readonly tenant: string }> {
  if (tenantHeader !== undefined && UUID.test(tenantHeader)) {
    return { ok: true, value: { tenant: tenantHeader.toLowerCase() } };
  }
  return toCheckFailure([reject('node_claim_release_no_tenant', 'X-Tenant-ID', tenantHeader)])!;
}
