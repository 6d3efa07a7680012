import { type TObject, type TOptional, type TSchema, Type } from 'typebox';

import type { Annotations } from './annotations.js';
import type { Announce, FieldRules } from './rule.js';

/**
 * Everything that is true of one field of a kind, declared once. `Facts` is what its rules look at, `Input` what its
 * completion may look at beside the value that was sent.
 */
export interface Field<Facts, Input, Schema extends TSchema = TSchema> {
  readonly schema: Schema;
  /** Must be sent. The rules refuse its absence where a code of their own says so. */
  readonly required?: true;
  readonly rules: readonly FieldRules<Facts>[];
  /** Stored and announced when nothing was sent. */
  readonly default?: unknown;
  /** Makes the stored value; announces every difference from what was sent. Asked when nothing was sent only if `isComputed`. */
  readonly complete?: (sent: never, announce: Announce, input: Input) => unknown;
  /** The server sets the value, whether or not one was sent. */
  readonly isComputed?: true;
  /**
   * `template`: containers are made from it, so a change replaces them. `hash`: a change replaces them, although
   * the container does not hold it. Absent: a change leaves running containers alone.
   */
  readonly partOf?: 'template' | 'hash';
}

/** The fields of a kind, in the order in which rejections are listed. */
export type FieldTable<Facts, Input> = Readonly<Record<string, Field<Facts, Input>>>;

/** The properties of a schema that a table of fields stands for. */
type Properties<Table> = {
  [Name in keyof Table]: Table[Name] extends { readonly schema: infer Schema extends TSchema }
    ? Table[Name] extends { readonly required: true }
      ? Schema
      : TOptional<Schema>
    : never;
};

/** The schema of a document with these fields and no others. */
export function toFieldSchema<Table extends FieldTable<never, never>>(
  table: Table,
  annotations: Annotations = {},
): TObject<Properties<Table>> {
  const properties = Object.entries(table).map(([name, { schema, required }]) => [
    name,
    required ? schema : Type.Optional(schema),
  ]);
  return Type.Object(Object.fromEntries(properties) as Properties<Table>, {
    additionalProperties: false,
    ...annotations,
  });
}

/** The rules of all fields, in the order of the table. */
export function listFieldRules<Facts>(table: FieldTable<Facts, never>): readonly FieldRules<Facts>[] {
  return Object.values(table).flatMap(({ rules }) => rules);
}

/** Makes the function that fills in defaults and normalises values; every change it makes is announced. */
export function createCompletion<Whole extends object, Input>(
  table: FieldTable<never, Input>,
): (sent: Readonly<Record<string, unknown>>, input: Input, announce: Announce) => Whole {
  const fields = Object.entries(table).map(([name, field]) => ({ name, ...field }));
  const names = Object.keys(table);
  // Stored in this order: the canonical text then costs no sorting.
  const sorted = names.toSorted().map(name => ({ name, at: names.indexOf(name) }));
  return (sent, input, announce) => {
    const values = fields.map(({ name, complete, isComputed, default: fallback }) => {
      const value = sent[name];
      if (value === undefined && fallback !== undefined) {
        announce(name, null, fallback, 'default');
        return fallback;
      }
      return complete && (value !== undefined || isComputed) ? complete(value as never, announce, input) : value;
    });
    const whole: Record<string, unknown> = {};
    for (const { name, at } of sorted) if (values[at] !== undefined) whole[name] = values[at];
    return whole as Whole;
  };
}
