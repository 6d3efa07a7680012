import type { TObject } from 'typebox';

import type { Kind, KubernetesNames } from '../kind/index.js';
import { kinds } from '../kinds/index.js';
import { dnsLabelSchema, type Relation, toCel } from '../rule/index.js';
import { type JsonSchema, renderSchema } from './json-schema.js';

const GROUP = 'mooring.io';

/** Custom resource definitions of the kinds that can also be driven with kubectl, by the name of their file. */
export function renderCrds(known: readonly Kind[] = kinds): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    known.flatMap(kind =>
      kind.kubernetes && kind.body
        ? [[`${kind.plural}.${GROUP}.yaml`, definition(kind, kind.body, kind.kubernetes)]]
        : [],
    ),
  );
}

function definition(
  { kind, plural, singular }: Kind,
  body: TObject,
  { shortNames, printed, isScaled }: KubernetesNames,
): JsonSchema {
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: resourceSchema(body) },
    subresources: { status: {}, ...(isScaled && { scale: SCALE }) },
    additionalPrinterColumns: [...printed, { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories: ['mooring'] },
      versions: [version],
    },
  };
}

const SCALE = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

/** Kubernetes keeps kind and name outside the spec. */
const OUTSIDE = ['kind', 'name'];

const { pattern, maxLength, 'x-expected': wanted } = dnsLabelSchema as unknown as JsonSchema;
const NAME_RULE = {
  rule: `self.metadata.name.matches(${JSON.stringify(pattern)}) && size(self.metadata.name) <= ${String(maxLength)}`,
  message: wanted,
};

/** What the fields of an object may not say together, as CEL. */
function toValidations({ 'x-relations': relations = [], properties = {} }: JsonSchema): JsonSchema {
  if ((relations as readonly Relation[]).length === 0) return {};
  const validations = (relations as readonly Relation[]).map(relation => ({
    rule: toCel(relation),
    message: `expected ${relation.wanted}`,
    ...(Object.hasOwn(properties as object, relation.field) && { fieldPath: `.${relation.field}` }),
  }));
  return { 'x-kubernetes-validations': validations };
}

function resourceSchema(body: TObject): JsonSchema {
  const whole = renderSchema(body as unknown as JsonSchema, structural) as JsonSchema & {
    readonly properties: Readonly<Record<string, JsonSchema>>;
    readonly required?: readonly string[];
  };
  const { 'x-kubernetes-validations': validations } = whole;
  const properties = Object.entries(whole.properties).filter(([field]) => !OUTSIDE.includes(field));
  const required = (whole.required ?? []).filter(field => !OUTSIDE.includes(field));
  return {
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: {
        type: 'object',
        ...(required.length > 0 && { required }),
        properties: Object.fromEntries(properties),
        ...(validations !== undefined && { 'x-kubernetes-validations': validations }),
      },
      status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
    'x-kubernetes-validations': [NAME_RULE],
  };
}

/** What a structural schema may say of a value. */
const KEPT = [
  'type',
  'properties',
  'required',
  'items',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
] as const;

const INT32_MAX = 2 ** 31 - 1;

/** The structural form (Kubernetes, apiextensions v1) of a part; none for what is never stored. */
function structural(schema: JsonSchema): JsonSchema | undefined {
  if (schema['x-transient'] === true) return undefined;
  const { const: only, pattern, additionalProperties, maximum, type, 'x-expected': expected } = schema;
  if (Array.isArray(type)) {
    return { 'x-kubernetes-int-or-string': true, ...(typeof expected === 'string' && { description: expected }) };
  }
  const kept = KEPT.filter(keyword => schema[keyword] !== undefined).map(
    keyword => [keyword, schema[keyword]] as const,
  );
  return {
    ...(typeof expected === 'string' && { description: expected }),
    ...Object.fromEntries(kept.filter(([keyword, value]) => keyword !== 'required' || (value as string[]).length > 0)),
    // Lists are replaced whole, also by server-side apply.
    ...(type === 'array' && { 'x-kubernetes-list-type': 'atomic' }),
    ...(only !== undefined && { type: typeof only, enum: [only] }),
    ...(type === 'integer' && typeof maximum === 'number' && maximum > INT32_MAX && { format: 'int64' }),
    // RE2 writes a code point in another way.
    ...(typeof pattern === 'string' && { pattern: pattern.replaceAll('\\u0000', '\\x00') }),
    // Pruning does what `false` would do, and `false` is not allowed beside properties.
    ...(typeof additionalProperties === 'object' && { additionalProperties }),
    ...toValidations(schema),
  };
}
