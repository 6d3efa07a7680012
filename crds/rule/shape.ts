import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';

import { FieldPath, isSameSpelling, findNearestName, escapePointer } from '../grammar/index.js';
import { reject, redactReceived } from '../rejections/index.js';
import { annotationWords } from './annotations.js';
import { type OversizedValue, findOversized, type SchemaNode } from './oversized.js';
import { type FieldError, attachFix } from './rule.js';
import { omitPaths } from './without.js';

/** One place where a document does not have the shape of its schema. */
export interface SchemaError {
  /** Where, as a JSON Pointer: what flaws are told apart by. */
  readonly pointer: string;
  /** The field's own rules are to refuse it. */
  readonly byRules: boolean;
  /** Where, for people. Built on demand, as the finding is: a hostile document has many flaws. */
  readonly at: () => FieldPath;
  /** The refusal for whoever has no rule of their own. */
  readonly finding: () => FieldError;
}

/** What is wrong, as ajv says it or as counting does. */
type Problem = Pick<ErrorObject, 'instancePath' | 'keyword' | 'params' | 'parentSchema' | 'data'> | OversizedValue;

const ajv = new Ajv2020({ allErrors: true, verbose: true, messages: false, strict: true, allowUnionTypes: true });
ajv.addVocabulary([...annotationWords]);

/** Compiles a schema, when first asked, to a function that lists the flaws of a document, one for each place. */
export function compileShape(schema: TSchema): (document: unknown) => readonly SchemaError[] {
  let validate: ValidateFunction | undefined;
  return document => {
    validate ??= ajv.compile(schema);
    const large = findOversized(schema as SchemaNode, document);
    if (large.length === 0 && validate(document)) return SOUND;

    const problems = large[0]?.instancePath === '' ? large : [...large, ...errorsOf(validate, document, large)];
    return outermost(problems).map(([pointer, problem]) => flawOf(pointer, problem, document));
  };
}

const SOUND: readonly SchemaError[] = [];

/** What the validator says of everything that is not too large. */
function errorsOf(
  validate: ValidateFunction,
  document: unknown,
  large: readonly OversizedValue[],
): readonly ErrorObject[] {
  const places = large.map(({ instancePath }) => FieldPath.ofPointer(instancePath, document));
  const rest = places.length === 0 ? document : omitPaths(document as Record<string, unknown>, places);
  return validate(rest) ? [] : (validate.errors ?? []);
}

/** One error for each place, and none inside another: what is wrong as a whole needs no second word. */
function outermost(errors: readonly Problem[]): [pointer: string, problem: Problem][] {
  const first = new Map<string, Problem>();
  for (const error of errors) {
    const pointer = pointerOf(error);
    if (!first.has(pointer)) first.set(pointer, error);
  }
  return [...first].filter(([pointer]) => {
    for (let end = pointer.lastIndexOf('/'); end >= 0; end = pointer.lastIndexOf('/', end - 1)) {
      if (first.has(pointer.slice(0, end))) return false;
      if (end === 0) break;
    }
    return true;
  });
}

interface Named {
  readonly missingProperty?: string;
  readonly additionalProperty?: string;
}

/** The place an error is about: for a field that is missing or unknown, the field and not the object around it. */
function pointerOf(error: Problem): string {
  const { missingProperty, additionalProperty } = error.params as Named;
  const name = missingProperty ?? additionalProperty;
  return name === undefined ? error.instancePath : `${error.instancePath}/${escapePointer(name)}`;
}

function flawOf(pointer: string, error: Problem, document: unknown): SchemaError {
  const holder = error.parentSchema as SchemaNode;
  const { missingProperty, additionalProperty } = error.params as Named;
  const at = () => FieldPath.ofPointer(pointer, document);

  if (additionalProperty !== undefined) {
    const received = (error.data as Record<string, unknown>)[additionalProperty];
    return { pointer, byRules: false, at, finding: () => unknownField(at(), additionalProperty, received, holder) };
  }
  const schema = missingProperty === undefined ? holder : (holder.properties?.[missingProperty] ?? {});
  const received = missingProperty === undefined ? error.data : undefined;
  // What is too large is kept from the rules, too.
  const isLarge = error.keyword === 'maxItems' || error.keyword === 'maxProperties';
  const byRules = schema['x-rules'] === true && !isLarge;
  return { pointer, byRules, at, finding: () => misshapen(at(), received, schema, error) };
}

function misshapen(at: FieldPath, received: unknown, schema: SchemaNode, error: Problem): FieldError {
  const code = schema['x-reject'];
  const rejection = code
    ? reject(code, at, received)
    : reject('field_invalid', at, received, { wanted: wanted(schema, error) });
  const isHidden = schema['x-redact'] === true || at.parts.length === 0;
  return { at, rejection: isHidden ? redactReceived(rejection, received) : rejection };
}

function unknownField(at: FieldPath, name: string, received: unknown, schema: SchemaNode): FieldError {
  const own = schema['x-unknown'];
  if (own !== undefined)
    return attachFix({ at, rejection: reject(own, at, received) }, { op: 'remove', path: at.toPointer() });
  const nearest = findNearestName(name, Object.keys(schema.properties ?? {}));
  const finding = { at, rejection: reject('field_unknown', at, received, { nearest }) };
  if (nearest === undefined || !isSameSpelling(name, nearest)) return finding;
  const path = at.upTo(at.parts.length - 1).child(nearest);
  return attachFix(finding, { op: 'move', from: at.toPointer(), path: path.toPointer() });
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};

function wanted(schema: SchemaNode, error: Problem): string {
  if (schema['x-expected'] !== undefined) return schema['x-expected'];
  const type = TYPES[schema.type ?? ''] ?? 'a value';
  const { limit, allowedValues = [] } = error.params as { limit?: number; allowedValues?: readonly unknown[] };
  switch (error.keyword) {
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
    case 'enum':
      return `one of ${allowedValues.join(', ')}`;
    default:
      return type;
  }
}
