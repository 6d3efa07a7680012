import { type TObject, Type } from 'typebox';

import type { Kind } from '../kind/index.js';
import { kinds } from '../kinds/index.js';
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
      traceparent: Type.Optional(Type.String({ description: 'the request that was accepted last, when it is traced' })),
      deletedAt: Type.Optional(time),
      owner: Type.Optional(open({ name: text, uid: text }, 'of a run: the job whose schedule made it')),
      scheduledAt: Type.Optional(time),
      annotations: Type.Optional(Type.Record(text, text, { description: 'kept for clients of Kubernetes' })),
      fieldOwners: Type.Optional(
        Type.Unsafe<unknown>({ type: 'object', description: 'who has set which field by kubectl' }),
      ),
    },
    'who the object is; set by the server',
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
  Object: Type.Unsafe<unknown>({ type: 'object', description: 'an object of this endpoint' }),
} as const;

/** The component that answers of a kind are described by; with `List` behind it, the list of such. */
export function getAnswerName({ kind, body, answer }: Kind): string {
  if (answer) return kind;
  return body ? `${kind}Answer` : 'Object';
}

/** Every component of answers. */
export function renderAnswers(known: readonly Kind[] = kinds): Readonly<Record<string, JsonSchema>> {
  const own = Object.fromEntries(
    known.flatMap(kind => [...Object.entries(kind.status ?? {}), ...listKindAnswers(kind)]),
  );
  const single = { ...parts, ...own } as unknown as Readonly<Record<string, JsonSchema>>;
  const lists = new Set([...known.map(getAnswerName), 'Object']);
  return { ...single, ...Object.fromEntries([...lists].map(name => [`${name}List`, listSchema(name)])) };
}

function listKindAnswers(kind: Kind): [name: string, schema: object][] {
  const { body, answer, status = {} } = kind;
  if (answer) return [[getAnswerName(kind), answer]];
  return body ? [[getAnswerName(kind), documentSchema(body, Object.keys(status)[0] ?? 'Object')]] : [];
}

/** A document as it is answered: what was sent, with what the server adds. */
function documentSchema({ properties, required }: TObject, status: string): TObject {
  return Type.Object(
    {
      metadata: refer('Metadata'),
      ...properties,
      status: Type.Optional(refer(status)),
      alterations: Type.Optional(Type.Array(refer('Alteration'))),
      warnings: Type.Optional(Type.Array(refer('Warning'))),
    },
    { required: ['metadata', ...((required as readonly string[] | undefined) ?? [])] },
  );
}

function listSchema(name: string): JsonSchema {
  return Type.Object({
    items: Type.Array(refer(name)),
    revision: text,
    next: Type.Optional(Type.Unsafe<unknown>({ type: ['string', 'null'] })),
  }) as unknown as JsonSchema;
}
