import { type Static, Type } from 'typebox';

import { DNS_LABEL_MAX } from '../grammar/index.js';
import type { Rejections } from '../rejections/index.js';
import { type Alteration, annotate, createBodyCheck, type CheckResult } from '../rule/index.js';
import { capacitySchema, clampCapacity } from './capacity.js';
import { nodeLabelRules, nodeLabelsSchema, normalizeLabels } from './labels.js';
import type { Capacity } from './node.js';

const nodeName = Type.String({
  maxLength: DNS_LABEL_MAX,
  pattern: '^[a-z](?:[a-z0-9-]*[a-z0-9])?$',
  ...annotate({ 'x-expected': 'lowercase letters, digits and inner hyphens, starting with a letter, at most 63' }),
});

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
    nodeName,
    labels: nodeLabelsSchema,
    capacity: capacitySchema,
    publicKey,
    agentVersion,
    controlPlane: Type.Optional(Type.Boolean()),
    proof,
  },
  { additionalProperties: false },
);

/** `POST /agent/v1/heartbeat`. */
export const heartbeatSchema = Type.Object(
  { labels: nodeLabelsSchema, capacity: capacitySchema, agentVersion, controlPlane: Type.Optional(Type.Boolean()) },
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

/** `POST /api/v1/nodes/join-tokens`. */
export const joinTokenRequestSchema = Type.Object(
  { nodeName: Type.Optional(nodeName) },
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
