import { defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { deploymentColumns } from './columns.js';
import { deploymentFields, deploymentSchema } from './fields.js';
import { canaryRequestSchema } from './rollout.js';
import { scalingSchema } from './scaling.js';
import { statusSchema } from './status-schema.js';

/** Containers that are kept running. */
export const deploymentKind = defineKind({
  kind: 'Deployment',
  singular: 'deployment',
  plural: 'deployments',
  shortNames: ['deploy'],
  description: 'Containers of one image that are kept running on the tenant’s nodes.',
  scope: 'tenant',
  range: 'deployments/',
  keyParts: ['tenant', 'name'],
  statusRange: 'status/',
  quotas: {
    deployments: { default: 200, unit: 'count', countsRecords: true },
    containers: { default: 1000, unit: 'count' },
    cpu: { unit: 'cores' },
    memory: { unit: 'bytes' },
  },
  fields: deploymentFields,
  body: deploymentSchema,
  requests: { CanaryRequest: canaryRequestSchema, ScalingPolicy: scalingSchema },
  status: { DeploymentStatus: statusSchema },
  kubernetes: {
    shortNames: ['mdeploy'],
    printed: [
      { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
      { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
      { name: 'Image', type: 'string', jsonPath: '.spec.image' },
    ],
    isScaled: true,
  },
  events: [
    'deployment.created',
    'deployment.updated',
    'deployment.placed',
    'deployment.unschedulable',
    'deployment.waiting',
    'deployment.progressing',
    'deployment.running',
    'deployment.degraded',
    'deployment.recovered',
    'deployment.stopped',
    'deployment.rollout_completed',
    'deployment.rollout_failed',
    'deployment.rolled_back',
    'deployment.canary_started',
    'deployment.canary_promoted',
    'deployment.canary_aborted',
    'deployment.scaled',
    'deployment.residency_violated',
    'deployment.deleted',
    'deployment.record_unusable',
  ],
  path: '/api/v1/deployments',
  item: '{name}',
  operations: ['list', 'watch', 'get', 'create', 'update', 'delete'],
  isFinalized: true,
  uses: ['volume', 'network', 'node', 'secret'],
  routes: {
    create: { codes: documentCodes.deploymentCreate },
    update: { codes: documentCodes.deploymentChange },
    delete: {
      summary: 'Requests the deletion of a deployment and its containers',
      codes: [
        'deployment_not_found',
        'revision_mismatch',
        'outcome_unknown',
        'secret_material_would_persist',
        'secret_generate_would_persist',
      ],
    },
    'GET /{name}/explain': {
      summary:
        'Says why the deployment is not as asked: step by step, and of every node why it takes or refuses a replica',
      answer: { status: 200, component: 'Object' },
      codes: ['deployment_not_found'],
    },
    'GET /{name}/logs': {
      summary: 'What the containers of a deployment print',
      answer: { status: 200 },
      codes: [
        'deployment_not_found',
        'query_parameter_invalid',
        'resource_not_found',
        'logs_replica_not_placed',
        'logs_no_container',
        'logs_not_kept',
        'logs_node_silent',
        'logs_engine_unreachable',
        'logs_unavailable',
        'logs_too_many',
      ],
    },
    'POST /{name}/canary': {
      summary: 'Promotes or aborts the canary of a deployment',
      headers: ['If-Match'],
      body: 'CanaryRequest',
      answer: { status: 200, component: 'Object' },
      codes: documentCodes.canary,
    },
    'GET /{name}/scaling': {
      summary: 'Shows the scaling policy of a deployment, what was decided by it last, and what its replicas use now',
      answer: { status: 200, component: 'Object' },
      codes: ['deployment_not_found', 'scaling_policy_not_found'],
    },
    'PUT /{name}/scaling': {
      summary: 'Has load move the number of replicas of a deployment within bounds',
      headers: ['If-Match'],
      body: 'ScalingPolicy',
      answer: { status: 200, component: 'Object' },
      otherwise: [{ status: 201, component: 'Object' }],
      codes: documentCodes.scaling,
    },
    'DELETE /{name}/scaling': {
      summary: 'Ends the scaling of a deployment: it goes back to the replicas of its spec',
      headers: ['If-Match'],
      answer: { status: 200, component: 'Object' },
      codes: ['deployment_not_found', 'scaling_policy_not_found', 'revision_mismatch', 'outcome_unknown'],
    },
    'GET /{name}/secrets/rotation': {
      summary: 'How far the rotation of a credential is',
      answer: { status: 200, component: 'Object' },
      codes: ['deployment_not_found', 'field_invalid'],
    },
    'POST /{name}/secrets/rotate': {
      summary: 'Asks for the next phase of a rotation',
      headers: ['If-Match'],
      body: 'RotationRequest',
      answer: { status: 200, component: 'Object' },
      codes: documentCodes.rotation,
    },
  },
  notFound: 'deployment_not_found',
  nameField: 'name',
  columns: deploymentColumns,
});
