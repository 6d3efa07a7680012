import { type Static, Type } from 'typebox';

import { FieldPath, parseDuration } from '../grammar/index.js';
import {
  type Announce,
  annotate,
  createBodyCheck,
  type FieldRules,
  isBroken,
  type Relation,
  rule,
  type Warning,
} from '../rule/index.js';
import type { Deployment, DeploymentContext, Rollout } from './deployment.js';

/** What a deployment without `rollout` does. */
export const rolloutDefaults: Rollout = {
  maxSurge: 1,
  maxUnavailable: 0,
  progressDeadline: '10m',
  autoRollback: true,
};

const REPLICAS_MAX = 10_000;
const byRules = annotate({ 'x-rules': true });

const share = (least: 0 | 1 = 0) =>
  Type.Unsafe<number | string>({
    type: ['integer', 'string'],
    minimum: least,
    maximum: REPLICAS_MAX,
    pattern: least === 0 ? '^(?:100|[1-9]?[0-9])%$' : '^(?:100|[1-9][0-9]?)%$',
    ...annotate({
      'x-expected': `an integer from ${least} to ${REPLICAS_MAX}, or a percentage from "${least}%" to "100%"`,
    }),
  });

/** `POST /api/v1/deployments/{name}/canary`. */
export const canaryRequestSchema = Type.Object(
  { action: Type.Enum(['promote', 'abort'], { type: 'string' }) },
  { additionalProperties: false },
);

/** Checks `POST /api/v1/deployments/{name}/canary`. */
export const checkCanaryRequest = createBodyCheck(canaryRequestSchema);

export type CanaryAction = Static<typeof canaryRequestSchema>['action'];

const NOTHING = [0, '0%'] as const;

const SOMETHING_MOVES: Relation = {
  field: 'maxUnavailable',
  forbidden: {
    all: [
      { field: 'maxSurge', isOneOf: NOTHING, byDefault: rolloutDefaults.maxSurge },
      { field: 'maxUnavailable', isOneOf: NOTHING, byDefault: rolloutDefaults.maxUnavailable },
    ],
  },
  wanted: '1 or more here, or in maxSurge: with 0 in both nothing could ever be replaced',
};

export const rolloutSchema = Type.Object(
  {
    maxSurge: Type.Optional(share()),
    maxUnavailable: Type.Optional(share()),
    progressDeadline: Type.Optional(Type.String(byRules)),
    autoRollback: Type.Optional(Type.Boolean()),
    paused: Type.Optional(Type.Boolean()),
    canary: Type.Optional(
      Type.Object(
        { replicas: share(1), hold: Type.Optional(Type.String(byRules)) },
        { additionalProperties: false, ...annotate({ 'x-expected': 'an object with replicas and hold' }) },
      ),
    ),
  },
  {
    additionalProperties: false,
    ...annotate({
      'x-expected': 'an object with maxSurge, maxUnavailable, progressDeadline, autoRollback, paused, canary',
      'x-relations': [SOMETHING_MOVES],
    }),
  },
);

/** A rollout as a client sends it. */
export type RolloutInput = Static<typeof rolloutSchema>;

const rolloutCanMove = rule('field_invalid', (sent: RolloutInput, at, refuse) => {
  if (!isBroken(SOMETHING_MOVES, sent)) return undefined;
  const { maxUnavailable } = { ...rolloutDefaults, ...sent };
  return refuse(at.child('maxUnavailable'), maxUnavailable, { wanted: SOMETHING_MOVES.wanted });
});

const SPANS = {
  progressDeadline: { shortest: '10s', longest: '24h', of: (sent: RolloutInput) => sent.progressDeadline },
  'canary.hold': { shortest: '1s', longest: '168h', of: (sent: RolloutInput) => sent.canary?.hold },
} as const;

const spanIsSound = (part: keyof typeof SPANS) => {
  const { shortest, longest, of } = SPANS[part];
  const [least, most] = [parseDuration(shortest)!, parseDuration(longest)!];
  return rule('field_invalid', (sent: RolloutInput, at, refuse) => {
    const value: unknown = of(sent);
    if (value === undefined) return undefined;
    const asked = typeof value === 'string' ? parseDuration(value) : undefined;
    if (asked !== undefined && asked >= least && asked <= most) return undefined;
    const place = part.split('.').reduce((path, name) => path.child(name), at);
    return refuse(place, value, { wanted: `a duration from ${shortest} to ${longest}` });
  });
};

export const rolloutRules: FieldRules<DeploymentContext> = {
  field: 'rollout',
  present: [rolloutCanMove, spanIsSound('progressDeadline'), spanIsSound('canary.hold')],
};

/** The rollout to store, with every default filled in, announced. */
export function completeRollout(sent: RolloutInput, announce: Announce): Rollout {
  const at = FieldPath.root.child('rollout');
  for (const [part, value] of Object.entries(rolloutDefaults)) {
    if (sent[part as keyof RolloutInput] === undefined) announce(at.child(part), null, value, 'default');
  }
  return { ...rolloutDefaults, ...sent } as Rollout;
}

/** The bounds of a rollout, in replicas. */
export interface RolloutBounds {
  /** Replicas that may exist beyond the wanted number. */
  readonly surge: number;
  /** Wanted replicas that may be unavailable. */
  readonly unavailable: number;
}

/**
 * The bounds of the rollout of a deployment. A percentage of maxSurge is rounded up, one of maxUnavailable down; when both
 * come to nothing one replica may be missing. Where a second container of a replica must not be beside the first, that one is
 * stopped first.
 */
export function getRolloutBounds(deployment: Deployment): RolloutBounds {
  const { maxSurge, maxUnavailable } = { ...rolloutDefaults, ...deployment.rollout };
  const surge = mustStopFirst(deployment) ? 0 : toReplicas(maxSurge, deployment.replicas, Math.ceil);
  const unavailable = toReplicas(maxUnavailable, deployment.replicas, Math.floor);
  return { surge, unavailable: surge + unavailable > 0 ? unavailable : 1 };
}

/** A record of another release may hold anything: what cannot be read is nothing. */
function toReplicas(share: number | string, replicas: number, round: (count: number) => number): number {
  const count = typeof share === 'string' ? round((Number.parseFloat(share) / 100) * replicas) : share;
  return Number.isInteger(count) && count > 0 ? count : 0;
}

/** Whether the old container has to be gone before the new one starts: both would write to one volume, or need one port of one node. */
function mustStopFirst({ volumes = [], ports = [], nodeId }: Deployment): boolean {
  if (!isMovable({ volumes })) return true;
  return nodeId !== undefined && ports.some(({ hostPort }) => hostPort !== undefined);
}

/** Whether replicas may move to another node: not when they write to a volume. */
export function isMovable({ volumes = [] }: Pick<Deployment, 'volumes'>): boolean {
  return volumes.every(({ readOnly }) => readOnly);
}

/** Whether replicas of the deployment exclude each other on a node, so that one more may find no place beside them. */
export function isExclusive({ ports = [], placement }: Deployment): boolean {
  return placement?.antiAffinity?.self === true || ports.some(({ hostPort }) => hostPort !== undefined);
}

/** The duration that a text says: stored records may hold anything. */
function readDuration(text: unknown): number | undefined {
  return typeof text === 'string' ? parseDuration(text) : undefined;
}

/** How long a rollout may go without progress, in milliseconds. */
export function getProgressDeadline({ rollout }: Deployment): number {
  return readDuration(rollout?.progressDeadline) ?? parseDuration(rolloutDefaults.progressDeadline)!;
}

/** How many replicas of the new and of the old template there are while a canary is held. */
export interface CanarySize {
  readonly next: number;
  readonly old: number;
}

/**
 * The size of the canary that a deployment asks for. At least one replica of the old template stays to be compared with; a
 * deployment of one replica keeps it where one more is allowed and both can be on one node. Where that is impossible the canary
 * takes its place.
 */
export function getCanarySize(deployment: Deployment): CanarySize {
  const { replicas, rollout } = deployment;
  const asked = Math.max(1, toReplicas(rollout?.canary?.replicas ?? 1, replicas, Math.ceil));
  if (replicas > 1) {
    const next = Math.min(asked, replicas - 1);
    return { next, old: replicas - next };
  }
  const isBeside = getRolloutBounds(deployment).surge > 0 && !isExclusive(deployment);
  return { next: replicas, old: Math.min(replicas, isBeside ? 1 : 0) };
}

/** How long a canary has to be healthy until the rest follows, in milliseconds; undefined: until it is promoted. */
export function getCanaryHold({ rollout }: Deployment): number | undefined {
  const { hold } = rollout?.canary ?? {};
  return readDuration(hold);
}

/** Announces that fewer replicas run the new template first than was asked for. */
export function warnCanary(deployment: Deployment): readonly Warning[] {
  const { canary } = deployment.rollout ?? {};
  if (!canary || deployment.replicas === 0) return [];
  const { next, old } = getCanarySize(deployment);
  const field = 'rollout.canary.replicas';
  if (old === 0) {
    const message =
      'its only replica is the canary: beside it the old one would need maxSurge, and neither a volume that it writes to, nor a host port, nor anti-affinity to itself';
    return [{ code: 'canary_alone', field, message }];
  }
  if (toReplicas(canary.replicas, deployment.replicas, Math.ceil) <= next) return [];
  const message = `of ${deployment.replicas} replicas at most ${next} ${next === 1 ? 'runs' : 'run'} the new template first, so that one is left to compare with`;
  return [{ code: 'canary_bounded', field, message }];
}
