import { type Static, type TSchema, type TUnsafe, Type } from 'typebox';

import { DNS_LABEL_MAX, DNS_LABEL_PATTERN } from '../grammar/index.js';
import type { PlainCode } from '../rejections/index.js';
import type { Relation } from './relation.js';

/** What a schema may say beside its shape. ajv is set to ignore these keywords. */
export interface Annotations {
  /** The code that a value of the wrong shape earns here; `field_invalid` when absent. */
  readonly 'x-reject'?: PlainCode;
  /** The field's own rules refuse what has the wrong shape here, with codes that take a limit. */
  readonly 'x-rules'?: true;
  /** The code of an unknown field of this object; `field_unknown` when absent. */
  readonly 'x-unknown'?: PlainCode;
  /** May be sent and is never stored: it has no place in the schema of what is. */
  readonly 'x-transient'?: true;
  /** The accepted form in words, for `field_invalid`. */
  readonly 'x-expected'?: string;
  /**
   * The value may be a credential: it is described, never quoted. `throughout`: so is everything below, whichever rule
   * refuses it, because a credential may have been put into the wrong field.
   */
  readonly 'x-redact'?: true | 'throughout';
  /** Inside of what is redacted throughout: a value of the type that belongs here is no credential, and is quoted. */
  readonly 'x-quoted'?: true;
  /** Of an object: what its fields may not say together. The rules of the fields refuse it. */
  readonly 'x-relations'?: readonly Relation[];
}

/** The words, for ajv's vocabulary. */
export const annotationWords: readonly (keyof Annotations)[] = [
  'x-reject',
  'x-rules',
  'x-unknown',
  'x-transient',
  'x-expected',
  'x-redact',
  'x-quoted',
  'x-relations',
];

/** A schema's annotations, checked by the compiler. */
export function annotate<const Given extends Annotations>(given: Given): Given {
  return given;
}

/**
 * The schema of a map whose keys are the client's own.
 *
 * Every value is looked at, whatever its key: a pattern for keys would pass over one with a line break in it.
 */
export function mapSchema<Value extends TSchema>(
  value: Value,
  options: Annotations & { readonly maxProperties: number },
): TUnsafe<Record<string, Static<Value>>> {
  return Type.Unsafe<Record<string, Static<Value>>>({ type: 'object', additionalProperties: value, ...options });
}

/** The name of an object that becomes a DNS label. */
export const dnsLabelSchema = Type.String({
  maxLength: DNS_LABEL_MAX,
  pattern: DNS_LABEL_PATTERN,
  ...annotate({ 'x-expected': 'lowercase letters, digits and inner hyphens, starting with a letter, at most 63' }),
});

/** A reference to a node. */
export const nodeReferenceSchema = Type.String({
  minLength: 1,
  maxLength: 128,
  ...annotate({ 'x-expected': 'the id or the name of a node' }),
});

/** The labels of an object. */
export const labelsSchema = mapSchema(Type.String({ maxLength: 1024, ...annotate({ 'x-reject': 'label_invalid' }) }), {
  maxProperties: 64,
});
