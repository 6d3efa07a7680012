import { Type } from 'typebox';

import { defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { jobFields, jobSchema } from './admit.js';
import { jobColumns } from './columns.js';

const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const time = Type.String({ format: 'date-time' });
const ended = {
  exitCode: Type.Optional(Type.Integer()),
  reason: Type.Optional(text),
  startedAt: Type.Optional(time),
  finishedAt: Type.Optional(time),
};
const states = ['Pending', 'Running', 'Succeeded', 'Failed'];
const run = Type.Object(
  {
    name: text,
    scheduledAt: time,
    phase: Type.Enum([...states, 'Deleted'], { type: 'string' }),
    exitCode: Type.Optional(Type.Integer()),
    finishedAt: Type.Optional(time),
  },
  { description: 'one run of a schedule: a job of its own, of that name' },
);

/** What a job with a schedule has. */
const scheduled = {
  settledUntil: Type.Optional(time),
  lastScheduledAt: Type.Optional(time),
  nextRunAt: Type.Optional(time),
  active: Type.Optional(Type.Array(text)),
  lastRun: Type.Optional(run),
  runs: Type.Optional(Type.Array(run)),
  missed: Type.Optional(
    Type.Object({ count, lastAt: time, reason: text }, { description: 'ticks of the schedule that had no run' }),
  ),
};

const statusSchema = Type.Object(
  {
    phase: Type.Enum([...states, 'Scheduled'], { type: 'string' }),
    message: text,
    attempts: count,
    ...ended,
    ...scheduled,
    retryAt: Type.Optional(time),
    history: Type.Array(
      Type.Object(
        {
          attempt: count,
          uid: text,
          state: Type.Enum(states, { type: 'string' }),
          nodeId: Type.Optional(text),
          nodeName: Type.Optional(text),
          message: Type.Optional(text),
          storedAt: Type.Optional(time),
          ...ended,
        },
        { description: 'one attempt: one container, started at most once' },
      ),
    ),
  },
  { description: 'how far a job is' },
);

/** Containers that run to their end. */
export const jobKind = defineKind({
  kind: 'Job',
  singular: 'job',
  plural: 'jobs',
  shortNames: [],
  description:
    'A container that runs to its end, and is tried again when it fails; with a schedule, a run at every tick.',
  scope: 'tenant',
  range: 'jobs/',
  keyParts: ['tenant', 'name'],
  statusRange: 'job-status/',
  quotas: { jobs: { default: 200, unit: 'count', countsRecords: true } },
  fields: jobFields,
  body: jobSchema,
  status: { JobStatus: statusSchema },
  kubernetes: {
    shortNames: ['mjob'],
    printed: [
      { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
      { name: 'Schedule', type: 'string', jsonPath: '.spec.schedule' },
    ],
  },
  events: [
    'job.created',
    'job.placed',
    'job.unschedulable',
    'job.started',
    'job.attempt_failed',
    'job.succeeded',
    'job.failed',
    'job.run_created',
    'job.run_replaced',
    'job.run_skipped',
    'job.run_missed',
    'job.record_unusable',
  ],
  path: '/api/v1/jobs',
  item: '{name}',
  operations: ['list', 'watch', 'get', 'create', 'delete'],
  isFinalized: true,
  uses: ['volume', 'network', 'node', 'secret'],
  routes: {
    create: { codes: documentCodes.job },
    delete: {
      summary: 'Deletes a job; one that runs is stopped first, and the runs of a schedule go with it',
      codes: ['resource_not_found', 'revision_mismatch', 'outcome_unknown'],
    },
    'GET /{name}/explain': {
      summary: 'Says of every node why it takes or refuses the job',
      answer: { status: 200, component: 'Object' },
      codes: ['resource_not_found'],
    },
    'GET /{name}/logs': {
      summary: 'What an attempt of a job prints, also after its end',
      answer: { status: 200 },
      codes: [
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
  },
  nameField: 'name',
  columns: jobColumns,
});
