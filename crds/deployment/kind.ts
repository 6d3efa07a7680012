import { Type } from 'typebox';

import { defineColumns, defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import type { DeploymentStatus, StoredDeployment } from './deployment.js';
import { deploymentFields, deploymentSchema } from './fields.js';
import { canaryRequestSchema } from './rollout.js';

interface DeploymentView extends StoredDeployment {
  /** None until the status roller has looked at it. */
  readonly status?: DeploymentStatus | null;
}

const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const nullable = Type.Unsafe<unknown>({ type: ['string', 'null'] });
const time = Type.String({ format: 'date-time' });
const output = {
  exitCode: Type.Integer(),
  at: time,
  output: Type.Optional(text),
  isWithheld: Type.Optional(Type.Boolean()),
};
const open = (properties: Parameters<typeof Type.Object>[0], description: string) =>
  Type.Object(properties, { description });

const canarySide = open(
  { replicas: count, ready: count, unhealthy: count, restarts: count, exitCodes: Type.Array(Type.Integer()) },
  'what is compared of one side of a canary',
);

const statusSchema = open(
  {
    phase: Type.Enum(
      ['Pending', 'Unschedulable', 'Waiting', 'Progressing', 'Running', 'Degraded', 'Stopped', 'Failed', 'Deleting'],
      { type: 'string' },
    ),
    message: text,
    replicas: count,
    readyReplicas: count,
    updatedReplicas: count,
    observedGeneration: count,
    revision: Type.Optional(count),
    secretsVersion: count,
    placements: Type.Array(
      open(
        {
          replica: count,
          nodeId: nullable,
          nodeName: Type.Optional(text),
          state: text,
          health: text,
          restarts: count,
          containerId: nullable,
          image: Type.Optional(text),
          generation: Type.Optional(count),
          user: Type.Optional(text),
          since: Type.Optional(time),
          reason: Type.Optional(text),
          message: Type.Optional(text),
          lastEnd: Type.Optional(
            open({ ...output, oomKilled: Type.Optional(Type.Boolean()) }, 'how its container ended last'),
          ),
          failedCheck: Type.Optional(
            open({ ...output, timedOut: Type.Optional(Type.Boolean()) }, 'its last health check, when it failed'),
          ),
          retry: Type.Optional(open({ at: time, everySeconds: Type.Optional(count) }, 'when the next attempt follows')),
          notMoved: Type.Optional(text),
        },
        'one replica as it is seen',
      ),
    ),
    conditions: Type.Array(
      open(
        {
          type: text,
          status: Type.Enum(['True', 'False', 'Unknown'], { type: 'string' }),
          reason: text,
          message: text,
          lastTransitionTime: Type.String({ format: 'date-time' }),
          observedGeneration: count,
        },
        'one aspect of an object’s state',
      ),
    ),
    rollout: Type.Optional(
      open(
        {
          state: Type.Enum(['complete', 'progressing', 'canary', 'paused', 'failed'], { type: 'string' }),
          revision: count,
          completedRevision: Type.Optional(count),
          waitsFor: Type.Optional(text),
          failure: Type.Optional(
            open(
              {
                revision: count,
                at: time,
                reason: text,
                message: text,
                replica: Type.Optional(count),
                exitCode: Type.Optional(Type.Integer()),
                output: Type.Optional(text),
                rolledBackTo: Type.Optional(count),
              },
              'the last rollout that missed its deadline',
            ),
          ),
          lastCanary: Type.Optional(
            open(
              {
                revision: count,
                outcome: Type.Enum(['promoted', 'aborted'], { type: 'string' }),
                at: time,
                message: text,
              },
              'how the last canary ended',
            ),
          ),
        },
        'how far the rollout of the present revision is',
      ),
    ),
    canary: Type.Optional(
      open(
        {
          state: Type.Enum(['starting', 'holding', 'failed'], { type: 'string' }),
          revision: count,
          slots: Type.Array(count),
          wanted: count,
          since: time,
          healthySince: Type.Optional(time),
          promotesAt: Type.Optional(time),
          compared: open({ canary: canarySide, others: canarySide }, 'the new template against the old one'),
          waitsFor: text,
        },
        'a canary that is under way',
      ),
    ),
    refusedBy: Type.Optional(Type.Array(text)),
    events: Type.Optional(
      Type.Array(
        open(
          { type: text, reason: text, id: text, at: Type.String({ format: 'date-time' }) },
          'the last event of a cause',
        ),
      ),
    ),
  },
  'what was seen of a deployment',
);

/** Containers that are kept running. */
export const deploymentKind = defineKind({
  kind: 'Deployment',
  singular: 'deployment',
  plural: 'deployments',
  shortNames: ['deploy'],
  description: 'Containers of one image that are kept running on the tenant’s nodes.',
  scope: 'tenant',
  isSupported: true,
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
  requests: { CanaryRequest: canaryRequestSchema },
  status: { DeploymentStatus: statusSchema },
  kubernetes: { shortNames: ['mdeploy'] },
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
    'deployment.residency_violated',
    'deployment.deleted',
    'deployment.record_unusable',
  ],
  path: '/api/v1/deployments',
  item: '{name}',
  operations: ['list', 'watch', 'get', 'create', 'update', 'delete'],
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
  columns: defineColumns<DeploymentView>([
    { title: 'NAME', value: ({ name }) => name },
    { title: 'READY', value: ({ status, replicas }) => `${status?.readyReplicas ?? 0}/${replicas}` },
    { title: 'PHASE', value: ({ status }) => status?.phase ?? 'Pending', format: 'state' },
    { title: 'AGE', value: ({ metadata }) => metadata.createdAt, format: 'age' },
    { title: 'IMAGE', value: ({ image }) => image },
    { title: 'GENERATION', isWide: true, value: ({ metadata }) => String(metadata.generation) },
    { title: 'UID', isWide: true, value: ({ metadata }) => metadata.uid },
    {
      title: 'MESSAGE',
      isWide: true,
      value: ({ status }) => status?.message ?? '',
      isWarning: ({ status }) =>
        status?.phase !== undefined && status.phase !== 'Running' && status.phase !== 'Stopped',
    },
  ]),
});
