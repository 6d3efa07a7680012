import { Type } from 'typebox';

import { defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { createBodyCheck } from '../rule/index.js';

/** `POST /api/v1/archives/deployments/{name}/rollback`. */
const rollbackRequestSchema = Type.Object(
  { revision: Type.Integer({ minimum: 1, maximum: 9_999_999_999 }) },
  { additionalProperties: false },
);

/** Checks the body of a rollback. */
export const checkRollbackRequest = createBodyCheck(rollbackRequestSchema);

/** Every accepted configuration of a deployment. */
export const archiveKind = defineKind({
  kind: 'Archive',
  singular: 'archive',
  plural: 'archives',
  shortNames: [],
  description: 'The history of a deployment’s accepted configurations, kept also after its deletion.',
  scope: 'tenant',
  range: 'archives/',
  keyParts: ['tenant', 'uid', 'revision'],
  requests: { RollbackRequest: rollbackRequestSchema },
  events: [],
  path: '/api/v1/archives/deployments',
  operations: [],
  routes: {
    'GET /{name}': {
      summary: 'Shows the configurations of a deployment, existing or deleted, or the difference of two of them',
      answer: { status: 200, component: 'Object' },
      codes: ['deployment_not_found', 'revision_not_found', 'query_parameter_invalid'],
    },
    'POST /{name}/rollback': {
      summary: 'Brings an earlier configuration back, as a new revision',
      headers: ['If-Match'],
      body: 'RollbackRequest',
      answer: { status: 200, component: 'DeploymentAnswer' },
      otherwise: [{ status: 201, component: 'DeploymentAnswer' }],
      codes: [...documentCodes.deploymentChange, 'revision_not_found'],
    },
  },
  nameField: 'revision',
  columns: [],
});
