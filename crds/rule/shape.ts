import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';

import { escapePointer, FieldPath, findNearestName, formatCount, isSameSpelling } from '../grammar/index.js';
import { redactReceived, reject } from '../rejections/index.js';
import { type Annotations, annotationWords } from './annotations.js';
import { attachFix, type FieldError, fixByRemoval } from './rule.js';

/** One place where a document does not have the shape of its schema. */
export interface SchemaError {
  /** Where, as a JSON Pointer: it identifies the error. */
  readonly pointer: string;
  /** Whether the rules of the field reject it, instead of the schema. */
  readonly byRules: boolean;
  /** Where, for people. Built on demand, as the error is: a hostile document has many errors. */
  readonly at: () => FieldPath;
  /** The rejection, unless a rule of the field makes one. */
  readonly error: () => FieldError;
}

/** An error as ajv reports it, or as `findOversized` does. */
type Problem = Pick<ErrorObject, 'instancePath' | 'keyword' | 'params' | 'parentSchema' | 'data'> | OversizedValue;

/** `crds/schemas/schemas.test.ts` looks whether the schemas of the API are schemas: to compile the schema of schemas takes every process longer than to compile most of ours. */
const options = { messages: false, strict: true, allowUnionTypes: true, meta: false, validateSchema: false };
/** Made on first use: agents and most commands judge nothing. */
let made: { readonly judging: Ajv2020; readonly listing: Ajv2020 } | undefined;

/** `judging` stops at the first error, so that what it compiles is half as long: V8 optimises no function of over 60 KiB of bytecode. */
function validators() {
  if (made) return made;
  made = { judging: new Ajv2020(options), listing: new Ajv2020({ ...options, allErrors: true, verbose: true }) };
  for (const ajv of Object.values(made)) ajv.addVocabulary([...annotationWords]);
  return made;
}

/** Compiles a schema, on first use, to a function that lists the errors of a document, one for each place. */
export function compileShape(schema: TSchema): (document: unknown) => readonly SchemaError[] {
  let isSound: ValidateFunction | undefined;
  let validate: ValidateFunction | undefined;
  return document => {
    isSound ??= validators().judging.compile(schema);
    const large = findOversized(schema as SchemaNode, document);
    if (large.length === 0 && isSound(document)) return SOUND;

    validate ??= validators().listing.compile(schema);
    const problems = large[0]?.instancePath === '' ? large : [...large, ...listErrors(validate, document, large)];
    return keepOutermost(problems).map(([pointer, problem]) => toSchemaError(pointer, problem, document));
  };
}

const SOUND: readonly SchemaError[] = [];

/** The errors of the validator in everything that is not too large. */
function listErrors(
  validate: ValidateFunction,
  document: unknown,
  large: readonly OversizedValue[],
): readonly ErrorObject[] {
  const places = large.map(({ instancePath }) => FieldPath.ofPointer(instancePath, document));
  const rest = places.length === 0 ? document : omitPaths(document as Record<string, unknown>, places);
  return validate(rest) ? [] : (validate.errors ?? []);
}

/** One error for each place, and none inside another: a value that is wrong as a whole is reported once. */
function keepOutermost(errors: readonly Problem[]): [pointer: string, problem: Problem][] {
  const first = new Map<string, Problem>();
  for (const error of errors) {
    const pointer = toPointer(error);
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

interface PropertyParams {
  readonly missingProperty?: string;
  readonly additionalProperty?: string;
}

/** The place an error is about: for a field that is missing or unknown, the field and not the object around it. */
function toPointer(error: Problem): string {
  const { missingProperty, additionalProperty } = error.params as PropertyParams;
  const name = missingProperty ?? additionalProperty;
  return name === undefined ? error.instancePath : `${error.instancePath}/${escapePointer(name)}`;
}

function toSchemaError(pointer: string, error: Problem, document: unknown): SchemaError {
  const holder = error.parentSchema as SchemaNode;
  const { missingProperty, additionalProperty } = error.params as PropertyParams;
  const at = () => FieldPath.ofPointer(pointer, document);

  if (additionalProperty !== undefined) {
    const received = (error.data as Record<string, unknown>)[additionalProperty];
    return { pointer, byRules: false, at, error: () => unknownField(at(), additionalProperty, received, holder) };
  }
  const schema = missingProperty === undefined ? holder : (holder.properties?.[missingProperty] ?? {});
  const received = missingProperty === undefined ? error.data : undefined;
  // The rules do not see oversized values either.
  const isLarge = error.keyword === 'maxItems' || error.keyword === 'maxProperties';
  const byRules = schema['x-rules'] === true && !isLarge;
  return { pointer, byRules, at, error: () => misshapen(at(), received, schema, error) };
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
  if (own !== undefined) return fixByRemoval({ at, rejection: reject(own, at, received) });
  const nearest = findNearestName(name, Object.keys(schema.properties ?? {}));
  const error = { at, rejection: reject('field_unknown', at, received, { nearest }) };
  if (nearest === undefined || !isSameSpelling(name, nearest)) return error;
  const path = at.upTo(at.parts.length - 1).child(nearest);
  return attachFix(error, { op: 'move', from: at.toPointer(), path: path.toPointer() });
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
  const { limit = 0, allowedValues = [] } = error.params as { limit?: number; allowedValues?: readonly unknown[] };
  const [entries, characters] = [formatCount(limit, 'entry', 'entries'), formatCount(limit, 'character')];
  const forms: Readonly<Record<string, string>> = {
    maxItems: `${type} of at most ${entries}`,
    maxProperties: `${type} of at most ${entries}`,
    minItems: `${type} of at least ${entries}`,
    maxLength: `${type} of at most ${characters}`,
    minLength: `${type} of at least ${characters}`,
    minimum: `${type} of ${limit} or more`,
    maximum: `${type} of ${limit} or less`,
    enum: `one of ${allowedValues.join(', ')}`,
  };
  return forms[error.keyword] ?? type;
}

type Holder = Record<string | number, unknown>;

/**
 * A copy of a document without the values at the given places, sharing everything else with it.
 *
 * A list that has such an entry is left out whole, because its other entries would move.
 */
export function omitPaths(document: Readonly<Record<string, unknown>>, places: readonly FieldPath[]): Holder {
  const root: Holder = { ...document };
  const copies = new WeakSet<object>();
  for (const { parts } of places) {
    let holder = root;
    for (const [depth, part] of parts.entries()) {
      const child = holder[part];
      const isLast = depth === parts.length - 1 || (Array.isArray(child) && depth === parts.length - 2);
      if (isLast || typeof child !== 'object' || child === null) {
        delete holder[part];
        break;
      }
      holder[part] = copies.has(child) ? child : shallowCopy(child);
      holder = holder[part] as Holder;
      copies.add(holder);
    }
  }
  return root;
}

function shallowCopy(value: object): object {
  return Array.isArray(value) ? [...(value as unknown[])] : { ...value };
}

/** What this package reads of a JSON Schema. */
export interface SchemaNode extends Annotations {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

/** A list or map with more entries than its schema allows. */
export interface OversizedValue {
  readonly keyword: 'maxItems' | 'maxProperties';
  readonly params: { readonly limit: number };
  readonly instancePath: string;
  readonly parentSchema: SchemaNode;
  readonly data: unknown;
}

/** Most unknown fields of one object that are reported one by one. */
const STRANGERS_MAX = 64;

/**
 * Finds oversized lists and maps by counting alone.
 *
 * A validator that lists every error would list ten thousand of them for a list of ten thousand entries, so oversized
 * values are kept from it. Nearly always nothing is oversized, and then nothing is allocated.
 */
export function findOversized(schema: SchemaNode, data: unknown): readonly OversizedValue[] {
  if (typeof data !== 'object' || data === null) return NOTHING;
  if (Array.isArray(data)) {
    const { maxItems: limit = Number.POSITIVE_INFINITY, items } = schema;
    if (data.length > limit) return [{ keyword: 'maxItems', params: { limit }, ...place(schema, data) }];
    return items === undefined ? NOTHING : inItems(items, data);
  }
  const { properties = NO_PROPERTIES, maxProperties } = schema;
  const names = Object.keys(data);
  const limit = maxProperties ?? Object.keys(properties).length + STRANGERS_MAX;
  if (names.length > limit) return [{ keyword: 'maxProperties', params: { limit }, ...place(schema, data) }];
  return within(properties, data as Readonly<Record<string, unknown>>, names);
}

function place(parentSchema: SchemaNode, data: object) {
  return { instancePath: '', parentSchema, data };
}

/** Looks into the entries of a list that is not too long itself. */
function inItems(items: SchemaNode, data: readonly unknown[]): readonly OversizedValue[] {
  let found = NOTHING;
  for (let position = 0; position < data.length; position++) {
    const inner = findOversized(items, data[position]);
    if (inner.length > 0) found = [...found, ...below(String(position), inner)];
  }
  return found;
}

/** Looks into the fields that are present. */
function within(
  properties: Readonly<Record<string, SchemaNode>>,
  data: Readonly<Record<string, unknown>>,
  names: readonly string[],
): readonly OversizedValue[] {
  let found = NOTHING;
  for (const name of names) {
    const value = data[name];
    if (typeof value !== 'object' || value === null || !Object.hasOwn(properties, name)) continue;
    const inner = findOversized(properties[name]!, value);
    if (inner.length > 0) found = [...found, ...below(name, inner)];
  }
  return found;
}

/** The same errors, seen from one step further out. */
function below(part: string, found: readonly OversizedValue[]): readonly OversizedValue[] {
  return found.map(each => ({ ...each, instancePath: `/${escapePointer(part)}${each.instancePath}` }));
}

const NOTHING: readonly OversizedValue[] = [];
const NO_PROPERTIES: Readonly<Record<string, SchemaNode>> = {};
