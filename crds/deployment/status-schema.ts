import { Type } from 'typebox';

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

/** The status of a deployment in answers. */
export const statusSchema = open(
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
    revision: count,
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
            open(
              {
                ...output,
                timedOut: Type.Optional(Type.Boolean()),
                log: Type.Optional(text),
                isLogWithheld: Type.Optional(Type.Boolean()),
              },
              'its last health check, when it failed',
            ),
          ),
          retry: Type.Optional(open({ at: time, everySeconds: Type.Optional(count) }, 'when the next attempt follows')),
          pull: Type.Optional(
            open(
              { receivedBytes: count, totalBytes: count },
              'how much of its image has arrived, while that takes longer',
            ),
          ),
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
                containerId: Type.Optional(text),
                containerName: Type.Optional(text),
                nodeName: Type.Optional(text),
                exitCode: Type.Optional(Type.Integer()),
                output: Type.Optional(text),
                log: Type.Optional(text),
                isWithheld: Type.Optional(Type.Boolean()),
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
    scaling: Type.Optional(
      open(
        {
          minReplicas: count,
          maxReplicas: count,
          targetCpuPercent: Type.Optional(count),
          targetMemoryPercent: Type.Optional(count),
          replicas: count,
          cpuPercent: Type.Optional(count),
          memoryPercent: Type.Optional(count),
          reason: Type.Optional(text),
          message: text,
        },
        'what its scaling policy has decided',
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
