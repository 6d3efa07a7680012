import { Type } from 'typebox';

import { type FieldPath, FieldPath as Path, formatCount } from '../grammar/index.js';
import { type Rejection, reject } from '../rejections/index.js';
import { annotate, type CheckResult, createValidator, type FieldRules, toCheckFailure, rule } from '../rule/index.js';
import {
  findSizeProblem,
  type KnownVolume,
  VOLUME_REPLICAS_MAX,
  VOLUME_SIZE_MAX,
  VOLUME_SIZE_MIN,
} from '../volume/index.js';
import { type Recommendation, type RecommendationAction, recommendationActions } from './recommendation.js';

/** What is known when a recommendation is to be applied. */
export interface ApplyFacts {
  /** The recommendations that hold for the tenant now. */
  readonly recommendations: readonly Recommendation[];
  readonly volumes: readonly KnownVolume[];
  /** How many nodes the tenant has enrolled. */
  readonly enrolled: number;
  /** The largest size that the nodes of a volume have room for; undefined where that is not known. */
  readonly findRoom: (volumeId: string) => number | undefined;
}

/** A change of a volume that may be carried out. */
export type VolumeChange = { readonly volumeId: string } & (
  | { readonly action: 'set_replicas'; readonly replicas: number }
  | { readonly action: 'resize'; readonly sizeBytes: number }
);

const byRules = annotate({ 'x-rules': true });

/** `POST /api/v1/dvm/recommendations/{id}/apply`. */
export const recommendationApplySchema = Type.Object(
  {
    parameters: Type.Object(
      {
        action: Type.Enum([...recommendationActions], { type: 'string', ...byRules }),
        target_replicas: Type.Optional(Type.Integer({ minimum: 1, maximum: VOLUME_REPLICAS_MAX, ...byRules })),
        target_size_bytes: Type.Optional(Type.Integer({ minimum: 1, maximum: VOLUME_SIZE_MAX, ...byRules })),
      },
      { additionalProperties: false, ...annotate({ 'x-expected': 'an object with action and its target' }) },
    ),
  },
  { additionalProperties: false },
);

interface Parameters {
  readonly action?: unknown;
  readonly target_replicas?: unknown;
  readonly target_size_bytes?: unknown;
}

/** The one parameter that each action takes, and its range. */
const TARGETS = {
  set_replicas: { name: 'target_replicas', max: VOLUME_REPLICAS_MAX },
  resize: { name: 'target_size_bytes', max: VOLUME_SIZE_MAX },
} as const;

const actionIsKnown = rule('dvm_recommendation_unknown_action', ({ action }: Parameters, at, refuse) =>
  recommendationActions.some(known => known === action)
    ? undefined
    : refuse(at.child('action'), action, { known: recommendationActions }),
);

const targetsFit = rule('dvm_recommendation_bad_parameter', (parameters: Parameters, at, refuse) => {
  const target = TARGETS[parameters.action as RecommendationAction] as { name: string; max: number } | undefined;
  if (!target) return undefined;
  return Object.values(TARGETS).flatMap(({ name }) => {
    const value = parameters[name];
    if (name !== target.name) {
      return value === undefined
        ? []
        : refuse(at.child(name), value, { wanted: `nothing for ${String(parameters.action)}` });
    }
    const isIn = Number.isInteger(value) && (value as number) >= 1 && (value as number) <= target.max;
    return isIn ? [] : refuse(at.child(name), value, { wanted: `an integer from 1 to ${target.max}` });
  });
});

const fields: readonly FieldRules<undefined>[] = [{ field: 'parameters', present: [actionIsKnown, targetsFit] }];
const validate = createValidator(recommendationApplySchema, fields);

/** Judges a request to apply a recommendation: whether it still holds, then the body, then what it would do. */
export function checkRecommendationApply(id: string, document: unknown, facts: ApplyFacts): CheckResult<VolumeChange> {
  const recommendation = facts.recommendations.find(each => each.id === id);
  if (!recommendation) return toCheckFailure([rejectAbsent(id, facts)])!;
  if (!recommendation.applicable) {
    const reason = recommendation.reason ?? 'this one is not';
    return toCheckFailure([reject('dvm_recommendation_not_applicable', 'id', id, { reason })])!;
  }
  const shape = toCheckFailure(validate(document, () => undefined));
  if (shape) return shape;

  const volume = facts.volumes.find(each => each.id === recommendation.volume_id);
  if (!volume)
    return toCheckFailure([reject('dvm_recommendation_volume_missing', 'volume_id', recommendation.volume_id)])!;
  const change = toVolumeChange(volume.id, (document as { readonly parameters: Parameters }).parameters);
  return toCheckFailure(outcomeRefusals(change, volume, facts)) ?? { ok: true, value: change };
}

/** An id names its volume: of one that is gone the answer says so, and not that the condition does not hold any more. */
function rejectAbsent(id: string, { volumes }: ApplyFacts): Rejection {
  const [, volume] = /^rec_([0-9a-z]{26})_[0-9a-z_]{1,40}$/.exec(id) ?? [];
  const isGone = volume !== undefined && !volumes.some(each => each.id === `vol_${volume}`);
  return isGone
    ? reject('dvm_recommendation_volume_missing', 'volume_id', `vol_${volume}`)
    : reject('dvm_recommendation_not_found', 'id', id);
}

function toVolumeChange(volumeId: string, parameters: Parameters): VolumeChange {
  return parameters.action === 'set_replicas'
    ? { volumeId, action: 'set_replicas', replicas: parameters.target_replicas as number }
    : { volumeId, action: 'resize', sizeBytes: parameters.target_size_bytes as number };
}

const PARAMETERS: FieldPath = Path.root.child('parameters');

/** What stands against the volume as it would be. */
function outcomeRefusals(change: VolumeChange, volume: KnownVolume, facts: ApplyFacts): readonly Rejection[] {
  const { enrolled } = facts;
  const used = volume.usedBytes ?? 0;
  if (change.action === 'resize' && change.sizeBytes < used) {
    const at = PARAMETERS.child('target_size_bytes');
    return [reject('dvm_recommendation_stale_measurement', at, change.sizeBytes, { used })];
  }
  const problem = findSpecProblem(change, volume, facts);
  if (problem !== undefined) {
    const received = change.action === 'resize' ? change.sizeBytes : change.replicas;
    return [reject('dvm_recommendation_apply_invalid_spec', 'spec', received, { problem })];
  }
  if (change.action === 'resize') return [];
  if (change.replicas + 1 > enrolled) {
    const at = PARAMETERS.child('target_replicas');
    return [reject('dvm_recommendation_insufficient_nodes', at, change.replicas, { enrolled })];
  }
  return [];
}

/** Why a volume cannot be what it would become. */
function findSpecProblem(change: VolumeChange, volume: KnownVolume, { findRoom }: ApplyFacts): string | undefined {
  if (change.action === 'set_replicas') {
    if (volume.class !== 'replicated') return `a volume of class ${volume.class} has no replicas`;
    const { replicas = 0 } = volume;
    return change.replicas < replicas
      ? `it has ${formatCount(replicas, 'replica')}, and none is taken away so`
      : undefined;
  }
  if (volume.phase !== 'Ready' && volume.phase !== 'Resizing') {
    return `its phase is ${volume.phase}, and a size is changed while it is Ready`;
  }
  if (change.sizeBytes < VOLUME_SIZE_MIN) return `a volume has at least ${VOLUME_SIZE_MIN} bytes`;
  return findSizeProblem(change.sizeBytes, { volume, roomBytes: findRoom(volume.id) });
}
