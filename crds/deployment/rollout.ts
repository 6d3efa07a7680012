import { type Static, Type } from 'typebox';

import { FieldPath, parseDuration } from '../grammar/index.js';
import { type Announce, annotate, type FieldRules, rule } from '../rule/index.js';
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
const count = (minimum: number) => Type.Integer({ minimum, maximum: REPLICAS_MAX });

const share = () =>
  Type.Unsafe<number | string>({
    type: ['integer', 'string'],
    minimum: 0,
    maximum: REPLICAS_MAX,
    pattern: '^(?:100|[1-9]?[0-9])%$',
    ...annotate({ 'x-expected': `an integer from 0 to ${REPLICAS_MAX}, or a percentage from "0%" to "100%"` }),
  });

export const rolloutSchema = Type.Object(
  {
    maxSurge: Type.Optional(share()),
    maxUnavailable: Type.Optional(share()),
    progressDeadline: Type.Optional(Type.String(byRules)),
    autoRollback: Type.Optional(Type.Boolean()),
    paused: Type.Optional(Type.Boolean()),
    canary: Type.Optional(
      Type.Object(
        { replicas: count(1), hold: Type.Optional(Type.String(byRules)) },
        { additionalProperties: false, ...annotate({ 'x-expected': 'an object with replicas and hold' }) },
      ),
    ),
  },
  {
    additionalProperties: false,
    ...annotate({
      'x-expected': 'an object with maxSurge, maxUnavailable, progressDeadline, autoRollback, paused, canary',
    }),
  },
);

/** A rollout as a client sends it. */
export type RolloutInput = Static<typeof rolloutSchema>;

function isNothing(share: number | string): boolean {
  return share === 0 || share === '0%';
}

const rolloutCanMove = rule('field_invalid', (sent: RolloutInput, at, refuse) => {
  const { maxSurge, maxUnavailable } = { ...rolloutDefaults, ...sent };
  if (!isNothing(maxSurge) || !isNothing(maxUnavailable)) return undefined;
  const wanted = '1 or more here, or in maxSurge: with 0 in both nothing could ever be replaced';
  return refuse(at.child('maxUnavailable'), maxUnavailable, { wanted });
});

const SPANS = {
  progressDeadline: { shortest: '10s', longest: '24h', of: (sent: RolloutInput) => sent.progressDeadline },
  'canary.hold': { shortest: '1s', longest: '168h', of: (sent: RolloutInput) => sent.canary?.hold },
} as const;

const spanIsSound = (part: keyof typeof SPANS) =>
  rule('field_invalid', (sent: RolloutInput, at, refuse) => {
    const { shortest, longest, of } = SPANS[part];
    const value: unknown = of(sent);
    if (value === undefined) return undefined;
    const asked = typeof value === 'string' ? parseDuration(value) : undefined;
    if (asked !== undefined && asked >= parseDuration(shortest)! && asked <= parseDuration(longest)!) return undefined;
    const place = part.split('.').reduce((path, name) => path.child(name), at);
    return refuse(place, value, { wanted: `a duration from ${shortest} to ${longest}` });
  });

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
  if (volumes.some(({ readOnly }) => !readOnly)) return true;
  return nodeId !== undefined && ports.some(({ hostPort }) => hostPort !== undefined);
}

/** Whether replicas of the deployment exclude each other on a node, so that one more may find no place beside them. */
export function isExclusive({ ports = [], placement }: Deployment): boolean {
  return placement?.antiAffinity?.self === true || ports.some(({ hostPort }) => hostPort !== undefined);
}

/** How long a rollout may go without progress, in milliseconds. */
export function getProgressDeadline({ rollout }: Deployment): number {
  const parsed = parseDuration(String(rollout?.progressDeadline));
  return parsed ?? parseDuration(rolloutDefaults.progressDeadline)!;
}
