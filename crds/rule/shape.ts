import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';

import { FieldPath, isSameSpelling, nearestName } from '../grammar/index.js';
import { reject, unquoted } from '../rejections/index.js';
import { type Annotations, annotationWords } from './annotations.js';
import { type Finding, mendedBy } from './rule.js';

/** One place where a document does not have the shape of its schema. */
export interface Flaw {
  readonly at: FieldPath;
  /** `at` as a JSON Pointer: what flaws are told apart by. */
  readonly pointer: string;
  /** The field's own rules are to refuse it. */
  readonly byRules: boolean;
  /** The refusal for whoever has no rule of their own. Built on demand: a hostile document has many flaws. */
  readonly finding: () => Finding;
}

type Schema = Annotations & {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
};

const ajv = new Ajv2020({ allErrors: true, verbose: true, strict: true, allowUnionTypes: true });
ajv.addVocabulary([...annotationWords]);

/** Compiles a schema, when first asked, to a function that lists the flaws of a document, one for each place. */
export function shapeOf(schema: TSchema): (document: unknown) => readonly Flaw[] {
  let validate: ValidateFunction | undefined;
  return document => {
    validate ??= ajv.compile(schema);
    if (validate(document)) return [];
    return outermost((validate.errors ?? []).map(error => flawOf(error, document)));
  };
}

/** One flaw for each place, and none inside another: what is wrong as a whole needs no second word. */
function outermost(flaws: readonly Flaw[]): readonly Flaw[] {
  const first = new Map<string, Flaw>();
  for (const flaw of flaws) {
    if (!first.has(flaw.pointer)) first.set(flaw.pointer, flaw);
  }
  return [...first.values()].filter(({ at }) => {
    for (let length = 0; length < at.parts.length; length += 1) {
      if (first.has(at.upTo(length).toPointer())) return false;
    }
    return true;
  });
}

function flawOf(error: ErrorObject, document: unknown): Flaw {
  const holder = error.parentSchema as Schema;
  const params = error.params as { readonly missingProperty?: string; readonly additionalProperty?: string };
  const here = FieldPath.ofPointer(error.instancePath, document);

  if (params.additionalProperty !== undefined) {
    const name = params.additionalProperty;
    const at = here.child(name);
    const finding = () => unknownField(at, name, (error.data as Record<string, unknown>)[name], holder);
    return { at, pointer: at.toPointer(), byRules: false, finding };
  }
  if (params.missingProperty !== undefined) {
    const at = here.child(params.missingProperty);
    const schema = holder.properties?.[params.missingProperty] ?? {};
    return flaw(at, undefined, schema, wanted(schema));
  }
  return flaw(here, error.data, holder, wanted(holder, error));
}

function flaw(at: FieldPath, received: unknown, schema: Schema, form: string): Flaw {
  const finding = (): Finding => {
    const code = schema['x-reject'];
    const rejection = code ? reject(code, at, received) : reject('field_invalid', at, received, { wanted: form });
    const hide = schema['x-redact'] === true || at.parts.length === 0;
    return { at, rejection: hide ? unquoted(rejection, received) : rejection };
  };
  return { at, pointer: at.toPointer(), byRules: schema['x-rules'] === true, finding };
}

function unknownField(at: FieldPath, name: string, received: unknown, schema: Schema): Finding {
  const nearest = nearestName(name, Object.keys(schema.properties ?? {}));
  const finding = { at, rejection: reject('field_unknown', at, received, { nearest }) };
  if (nearest === undefined || !isSameSpelling(name, nearest)) return finding;
  const path = at.upTo(at.parts.length - 1).child(nearest);
  return mendedBy(finding, { op: 'move', from: at.toPointer(), path: path.toPointer() });
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};

function wanted(schema: Schema, error?: ErrorObject): string {
  if (schema['x-expected'] !== undefined) return schema['x-expected'];
  const type = TYPES[schema.type ?? ''] ?? 'a value';
  const limit = (error?.params as { readonly limit?: number } | undefined)?.limit;
  switch (error?.keyword) {
    case 'maxItems':
    case 'maxProperties':
      return `${type} of at most ${limit} entries`;
    case 'minItems':
      return `${type} of at least ${limit} entries`;
    case 'maxLength':
      return `${type} of at most ${limit} characters`;
    case 'minLength':
      return `${type} of at least ${limit} characters`;
    case 'minimum':
      return `${type} of ${limit} or more`;
    case 'maximum':
      return `${type} of ${limit} or less`;
    default:
      return type;
  }
}
