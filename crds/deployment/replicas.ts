import { Type } from 'typebox';

import { annotate, type FieldRules, rule } from '../rule/index.js';
import type { DeploymentContext } from './limits.js';

/** How many containers, when nobody says. */
export const REPLICAS_DEFAULT = 1;

export const replicasSchema = Type.Integer({ minimum: 0, ...annotate({ 'x-rules': true }) });

const replicasNotNegative = rule('replicas_negative', (replicas: unknown, at, { limits }: DeploymentContext, refuse) =>
  typeof replicas === 'number' && replicas < 0 ? refuse(at, replicas, { max: limits.maxReplicas }) : undefined,
);

const replicasInRange = rule('replicas_out_of_range', (replicas: unknown, at, { limits }: DeploymentContext, refuse) =>
  Number.isInteger(replicas) && (replicas as number) <= limits.maxReplicas
    ? undefined
    : refuse(at, replicas, { max: limits.maxReplicas }),
);

export const replicasRules: FieldRules<DeploymentContext> = {
  field: 'replicas',
  present: [replicasNotNegative, replicasInRange],
};
