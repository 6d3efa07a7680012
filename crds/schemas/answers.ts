import { Type } from 'typebox';

import { type BodyName, bodies } from './bodies.js';
import type { JsonSchema } from './json-schema.js';

const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const time = Type.String({ format: 'date-time' });
const open = (properties: Parameters<typeof Type.Object>[0], description: string) =>
  Type.Object(properties, { description });
const refer = (name: string) => Type.Unsafe<unknown>({ $ref: `#/components/schemas/${name}` });

const patchStep = open(
  {
    op: Type.Enum(['add', 'replace', 'remove', 'move'], { type: 'string' }),
    path: text,
    from: Type.Optional(text),
    value: Type.Optional(Type.Unknown()),
  },
  'one step of a JSON Patch (RFC 6902)',
);

const rejection = {
  code: refer('RejectionCode'),
  field: text,
  received: text,
  expected: text,
  why: text,
  doc: text,
  fix: Type.Optional(Type.Array(patchStep)),
};

const condition = open(
  {
    type: text,
    status: Type.Enum(['True', 'False', 'Unknown'], { type: 'string' }),
    reason: text,
    message: text,
    lastTransitionTime: time,
    observedGeneration: count,
  },
  'one aspect of an object’s state',
);

const placement = open(
  {
    replica: count,
    nodeId: Type.Unsafe<unknown>({ type: ['string', 'null'] }),
    state: text,
    health: text,
    restarts: count,
    containerId: Type.Unsafe<unknown>({ type: ['string', 'null'] }),
  },
  'one replica as it is seen',
);

/** What answers are made of, by the name of each component. Answers may grow: none of them is closed. */
const parts = {
  Rejection: open(rejection, 'one refused value; nothing was stored'),
  RejectionAnswer: open(
    { ...rejection, rejections: Type.Array(refer('Rejection'), { minItems: 1 }) },
    'the first rejection, and the list of all of them',
  ),
  Alteration: open(
    { field: text, from: Type.Unknown(), to: Type.Unknown(), why: text },
    'a difference between what was sent and what is stored',
  ),
  Warning: open(
    { code: text, field: text, message: text, advertised: Type.Optional(Type.Array(text)) },
    'something that was stored as asked, although it may not do what was meant',
  ),
  Metadata: open(
    {
      tenant: text,
      uid: text,
      generation: count,
      revision: text,
      createdAt: time,
      updatedAt: time,
      specHash: text,
      deletedAt: Type.Optional(time),
    },
    'who the object is; set by the server',
  ),
  DeploymentStatus: open(
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
      secretsVersion: count,
      placements: Type.Array(placement),
      conditions: Type.Array(condition),
    },
    'what was seen of a deployment',
  ),
  DryRun: open(
    {
      dryRun: Type.Literal(true),
      change: Type.Enum(['create', 'update', 'delete', 'none'], { type: 'string' }),
      object: Type.Unsafe<unknown>({ type: ['object', 'null'] }),
      alterations: Type.Array(refer('Alteration')),
      warnings: Type.Array(refer('Warning')),
      diff: Type.Array(patchStep),
    },
    'what a write would come to; nothing was stored',
  ),
  Event: open(
    {
      id: text,
      revision: text,
      type: text,
      at: time,
      lastSeenAt: time,
      count,
      tenant: text,
      subject: Type.Object({ kind: text, name: text, id: text }),
      severity: Type.Enum(['info', 'warning'], { type: 'string' }),
      reason: text,
      message: text,
      data: Type.Unsafe<unknown>({ type: 'object' }),
    },
    'something that happened',
  ),
  Object: Type.Unsafe<unknown>({ type: 'object', description: 'an object of this endpoint' }),
} as const;

/** Kinds whose answers are what was sent, with what the server adds. */
const written = {
  DeploymentAnswer: { body: 'Deployment', status: 'DeploymentStatus' },
  JobAnswer: { body: 'Job', status: 'Object' },
  NetworkAnswer: { body: 'Network', status: 'Object' },
  VolumeAnswer: { body: 'Volume', status: 'Object' },
} as const satisfies Readonly<Record<string, { readonly body: BodyName; readonly status: keyof typeof parts }>>;

/** The name of an answer's component; with `List` behind it, the list of such. */
export type AnswerName = keyof typeof parts | keyof typeof written;

/** Every component of answers. */
export function renderAnswers(): Readonly<Record<string, JsonSchema>> {
  const answers = Object.entries(written).map(
    ([name, { body, status }]) => [name, writtenSchema(body, status)] as const,
  );
  const single: Readonly<Record<string, JsonSchema>> = { ...parts, ...Object.fromEntries(answers) } as never;
  const lists = ['DeploymentAnswer', 'Event', 'Object', ...answers.slice(1).map(([name]) => name)];
  return { ...single, ...Object.fromEntries(lists.map(name => [`${name}List`, listSchema(name)])) };
}

function writtenSchema(body: BodyName, status: string): JsonSchema {
  const { properties, required } = bodies[body] as unknown as { properties: object; required?: readonly string[] };
  return Type.Object(
    {
      metadata: refer('Metadata'),
      ...(properties as Parameters<typeof Type.Object>[0]),
      status: Type.Optional(refer(status)),
      alterations: Type.Optional(Type.Array(refer('Alteration'))),
      warnings: Type.Optional(Type.Array(refer('Warning'))),
    },
    { required: ['metadata', ...(required ?? [])] },
  ) as unknown as JsonSchema;
}

function listSchema(name: string): JsonSchema {
  return Type.Object({
    items: Type.Array(refer(name)),
    revision: text,
    next: Type.Optional(Type.Unsafe<unknown>({ type: ['string', 'null'] })),
  }) as unknown as JsonSchema;
}
