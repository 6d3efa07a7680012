import { Type } from 'typebox';

import { annotate, type FieldRules, rule } from '../rule/index.js';
import type { DeploymentContext } from './limits.js';

export const kindSchema = Type.Literal('Deployment', annotate({ 'x-rules': true }));

const kindIsDeployment = rule('manifest_wrong_kind', (kind: unknown, at, _context: DeploymentContext, refuse) =>
  kind === 'Deployment' ? undefined : refuse(at, kind, { kind: 'Deployment' }),
);

export const kindRules: FieldRules<DeploymentContext> = {
  field: 'kind',
  absent: kindIsDeployment,
  present: [kindIsDeployment],
};
