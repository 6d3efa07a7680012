import type { Static, TObject, TSchema } from 'typebox';

import { FieldPath, unescapePointer } from '../grammar/index.js';
import { redactReceived, type Rejection, type Rejections } from '../rejections/index.js';
import type { Alteration, FieldError, FieldRules, Rule, RuleResult, Warning } from './rule.js';
import { compileShape, omitPaths, type SchemaError, type SchemaNode } from './shape.js';

/** Most rejections in one answer: enough for a person to work on, and a bound on what a hostile body can cause. */
export const REJECTIONS_MAX = 200;

/** The part of a document that conforms to its schema. Rules read other fields than their own from here. */
export interface WellFormedDocument {
  /** The document without the values that do not conform. */
  readonly document: Readonly<Record<string, unknown>>;
  /** Whether a field conforms as a whole: only then does the absence of a value in it mean anything. */
  readonly isWhole: (field: string) => boolean;
}

/**
 * Lists what is wrong with a document. `facts` gets the part that conforms to the schema; `asks` says which fields are
 * checked, all of them when left out.
 */
export type Validator<Facts> = (
  document: unknown,
  facts: (sound: WellFormedDocument) => Facts,
  asks?: (field: string) => boolean,
) => readonly Rejection[];

/**
 * Makes the validator of a kind from its schema and the rules of its fields.
 *
 * The schema comes first, and rules see only what conforms: a value of the wrong shape is rejected once and then counts
 * as unknown, so no rule can report the same place a second time. The order of the answer is the order of
 * `fields`, then the order of the schema; unknown fields come last.
 */
export function createValidator<Facts>(schema: TObject, fields: readonly FieldRules<Facts>[]): Validator<Facts> {
  const shape = compileShape(schema);
  const rank = ranking(schema, fields);
  const redacted = createRedaction(schema);
  const placed = fields.map(rules => ({ rules, at: FieldPath.root.child(rules.field) }));
  return (document, facts, asks = () => true) => {
    const schemaErrors = shape(document).filter(({ pointer }) => pointer === '' || asks(outerName(pointer)));
    const invalidFields = new Set(schemaErrors.map(({ pointer }) => outerName(pointer)));
    if (schemaErrors[0]?.pointer === '') return [{ ...schemaErrors[0].error().rejection, field: 'body' }];

    const byRules = schemaErrors.filter(error => error.byRules);
    const broken = schemaErrors.filter(error => !error.byRules);
    const whole = document as Readonly<Record<string, unknown>>;
    const places = broken.map(error => error.at());
    const sound = places.length === 0 ? whole : omitPaths(whole, places);
    const known = facts({ document: sound, isWhole: field => !invalidFields.has(field) });
    const errors: FieldError[] = [];
    for (const { rules, at } of placed) {
      if (asks(rules.field) || rules.with?.some(asks)) apply(rules, at, sound, known, errors);
    }
    if (errors.length === 0 && schemaErrors.length === 0) return NOTHING;

    const found = errors.map(error => ({
      pointer: error.at.toPointer(),
      at: () => error.at,
      error: () => error,
    }));
    const reported = found.filter(outside(broken));
    const unclaimed = byRules.filter(outside(reported));
    return [...broken, ...unclaimed, ...firstOfEach(reported)]
      .map(place => ({ place, rank: rank(place.at()) }))
      .sort((a, b) => compare(a.rank, b.rank))
      .slice(0, REJECTIONS_MAX)
      .map(({ place }) =>
        quoteText(schema, redacted(place.error().rejection, place.at(), document), place.at(), document),
      );
  };
}

const NOTHING: readonly Rejection[] = [];

/** An error at a place. */
type Place = Pick<SchemaError, 'pointer' | 'at' | 'error'>;

/** The name of the field of the document that a pointer leads into. */
function outerName(pointer: string): string {
  const end = pointer.indexOf('/', 1);
  return unescapePointer(pointer.slice(1, end < 0 ? undefined : end));
}

/** Adds what the rules of one field find. */
function apply<Facts>(
  rules: FieldRules<Facts>,
  at: FieldPath,
  document: Readonly<Record<string, unknown>>,
  facts: Facts,
  errors: FieldError[],
): void {
  const value = document[rules.field];
  if (value === undefined) {
    if (rules.absent) add(rules.absent.check(value, at, facts), errors);
    return;
  }
  for (const rule of rules.present as unknown as readonly Rule<unknown, Facts>[]) {
    add(rule.check(value, at, facts), errors);
  }
}

function add(found: RuleResult, errors: FieldError[]): void {
  if (found === undefined) return;
  if ('rejection' in found) errors.push(found);
  else for (const error of found) errors.push(error);
}

/** Keeps what lies neither at, nor inside, nor around any of the given places. */
function outside(places: readonly Place[]): (place: Place) => boolean {
  const taken = new Set(places.map(({ pointer }) => pointer));
  const around = new Set(places.flatMap(({ pointer }) => prefixes(pointer)));
  return ({ pointer }) =>
    !taken.has(pointer) && !around.has(pointer) && !prefixes(pointer).some(prefix => taken.has(prefix));
}

/** The pointers of everything that lies around a place, except the document itself. */
function prefixes(pointer: string): string[] {
  const found: string[] = [];
  for (let end = pointer.lastIndexOf('/'); end > 0; end = pointer.lastIndexOf('/', end - 1)) {
    found.push(pointer.slice(0, end));
  }
  return found;
}

function firstOfEach(places: readonly Place[]): readonly Place[] {
  const first = new Map<string, Place>();
  for (const place of places) {
    if (!first.has(place.pointer)) first.set(place.pointer, place);
  }
  return [...first.values()];
}

interface SchemaOrder {
  readonly properties?: Readonly<Record<string, SchemaOrder>>;
  readonly items?: SchemaOrder;
}

/** The place of a path in the order of the answer, part by part. */
function ranking<Facts>(schema: TObject, fields: readonly FieldRules<Facts>[]): (at: FieldPath) => readonly number[] {
  const root = schema as SchemaOrder;
  const order = [...new Set([...fields.map(({ field }) => field), ...Object.keys(root.properties ?? {})])];
  return at => {
    let here: SchemaOrder | undefined = root;
    return at.parts.map((part, depth) => {
      const names: readonly string[] = depth === 0 ? order : Object.keys(here?.properties ?? {});
      here = typeof part === 'number' ? here?.items : here?.properties?.[part];
      if (typeof part === 'number') return part;
      return names.includes(part) ? names.indexOf(part) : names.length;
    });
  };
}

/** Orders by rank, and an object before its fields. */
function compare(a: readonly number[], b: readonly number[]): number {
  const differing = a.findIndex((rank, depth) => rank !== b[depth]);
  if (differing < 0) return a.length - b.length;
  return b[differing] === undefined ? 1 : a[differing]! - b[differing];
}

/** Removes the received value from a rejection, where the schema says that nothing below a place is ever quoted. */
export function createRedaction(
  schema: TSchema,
): (rejection: Rejection, at: FieldPath, document: unknown) => Rejection {
  return (rejection, at, document) => {
    const value = valueAt(document, at);
    return isCovered(schema as SchemaNode, at, value) ? redactReceived(rejection, value) : rejection;
  };
}

/** Text where something else belongs, in quotes: `"3"` is no number, and must not look like one. */
function quoteText(schema: SchemaNode, rejection: Rejection, at: FieldPath, document: unknown): Rejection {
  const value = valueAt(document, at);
  if (typeof value !== 'string' || rejection.received !== value || !LOOKS_TYPED.test(value)) return rejection;
  const type = findSchema(schema, at)?.type;
  return type === undefined || type === 'string' ? rejection : { ...rejection, received: JSON.stringify(value) };
}

/** What begins like a number, a truth value, a list or an object in JSON. */
const LOOKS_TYPED = /^\s*(?:[-+.\d[{]|(?:true|false|null)\s*$)/i;

function findSchema(schema: SchemaNode, { parts }: FieldPath): SchemaNode | undefined {
  return parts.reduce<SchemaNode | undefined>(
    (here, part) => (typeof part === 'number' ? here?.items : here?.properties?.[part]),
    schema,
  );
}

function isCovered(schema: SchemaNode, { parts }: FieldPath, value: unknown): boolean {
  let here: SchemaNode | undefined = schema;
  let isRedacted = false;
  for (const part of parts) {
    isRedacted ||= here?.['x-redact'] === 'throughout';
    here = typeof part === 'number' ? here?.items : here?.properties?.[part];
  }
  isRedacted ||= here?.['x-redact'] === 'throughout';
  return isRedacted && !(here?.['x-quoted'] && typeof value === (here.type === 'integer' ? 'number' : 'string'));
}

function valueAt(document: unknown, { parts }: FieldPath): unknown {
  return parts.reduce<unknown>((holder, part) => {
    const isHolder = typeof holder === 'object' && holder !== null && Object.hasOwn(holder, part);
    return isHolder ? (holder as Record<string | number, unknown>)[part] : undefined;
  }, document);
}

/** Everything that is wrong with a document. */
export interface CheckFailure {
  readonly ok: false;
  readonly rejections: Rejections;
}

/** A body that may be used, or everything that is wrong with it. */
export type CheckResult<Value> = { readonly ok: true; readonly value: Value } | CheckFailure;

/** A document that is to be stored, or everything that is wrong with it. */
export type Admission<Spec, Extras = unknown> =
  | ({
      readonly ok: true;
      readonly spec: Spec;
      /** Every difference between what was sent and what is to be stored. */
      readonly alterations: readonly Alteration[];
      readonly warnings: readonly Warning[];
    } & Extras)
  | CheckFailure;

/** A document that was accepted. */
export type Admitted<Spec, Extras = unknown> = Extract<Admission<Spec, Extras>, { readonly ok: true }>;

/** A refusal, when there is anything to refuse. */
export function toCheckFailure([first, ...rest]: readonly Rejection[]): CheckFailure | undefined {
  return first && { ok: false, rejections: [first, ...rest] };
}

/** Makes the check of a body whose schema, with a few rules, says everything about it. */
export function createBodyCheck<Schema extends TObject>(
  schema: Schema,
  fields: readonly FieldRules<undefined>[] = [],
): (document: unknown) => CheckResult<Static<Schema>> {
  const examine = createValidator(schema, fields);
  return document =>
    toCheckFailure(examine(document, () => undefined)) ?? { ok: true, value: document as Static<Schema> };
}
