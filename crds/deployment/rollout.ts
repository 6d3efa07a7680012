import { type Static, Type } from 'typebox';

import { FieldPath, parseDuration } from '../grammar/index.js';
import { type Announce, annotate, type FieldRules, rule } from '../rule/index.js';
import type { DeploymentContext, Rollout } from './deployment.js';

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

export const rolloutSchema = Type.Object(
  {
    maxSurge: Type.Optional(count(0)),
    maxUnavailable: Type.Optional(count(0)),
    progressDeadline: Type.Optional(Type.String(byRules)),
    autoRollback: Type.Optional(Type.Boolean()),
    canary: Type.Optional(
      Type.Object(
        { replicas: count(1), hold: Type.Optional(Type.String(byRules)) },
        { additionalProperties: false, ...annotate({ 'x-expected': 'an object with replicas and hold' }) },
      ),
    ),
  },
  {
    additionalProperties: false,
    ...annotate({ 'x-expected': 'an object with maxSurge, maxUnavailable, progressDeadline, autoRollback, canary' }),
  },
);

/** A rollout as a client sends it. */
export type RolloutInput = Static<typeof rolloutSchema>;

const rolloutCanMove = rule('field_invalid', (sent: RolloutInput, at, refuse) => {
  const { maxSurge, maxUnavailable } = { ...rolloutDefaults, ...sent };
  if (maxSurge + maxUnavailable > 0) return undefined;
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
