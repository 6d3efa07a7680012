import { escapePointer } from '../grammar/index.js';
import type { Annotations } from './annotations.js';

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

/** Unknown fields that one object may have and still be told about each of them. */
const STRANGERS_MAX = 64;

/**
 * Finds what is too large by counting alone.
 *
 * A validator that lists every fault would list ten thousand of them for a list of ten thousand entries; what is found
 * here need not be shown to it. Nearly always nothing is found, and then nothing is made.
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

/** Looks into the fields that are there. */
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

/** The same findings, seen from one step further out. */
function below(part: string, found: readonly OversizedValue[]): readonly OversizedValue[] {
  return found.map(each => ({ ...each, instancePath: `/${escapePointer(part)}${each.instancePath}` }));
}

const NOTHING: readonly OversizedValue[] = [];
const NO_PROPERTIES: Readonly<Record<string, SchemaNode>> = {};
