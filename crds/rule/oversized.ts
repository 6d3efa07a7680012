import { pointerPart } from '../grammar/index.js';
import type { Annotations } from './annotations.js';

/** What this package reads of a JSON Schema. */
export interface Schema extends Annotations {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

/** A list or map with more entries than its schema allows. */
export interface Oversized {
  readonly keyword: 'maxItems' | 'maxProperties';
  readonly params: { readonly limit: number };
  readonly instancePath: string;
  readonly parentSchema: Schema;
  readonly data: unknown;
}

/** Unknown fields that one object may have and still be told about each of them. */
const STRANGERS_MAX = 64;

/**
 * Finds what is too large by counting alone.
 *
 * A validator that lists every fault would list ten thousand of them for a list of ten thousand entries; what is found
 * here need not be shown to it.
 */
export function oversized(schema: Schema, data: unknown, instancePath = ''): readonly Oversized[] {
  if (typeof data !== 'object' || data === null) return NOTHING;
  if (Array.isArray(data)) {
    const limit = schema.maxItems ?? Number.POSITIVE_INFINITY;
    if (data.length <= limit) return inItems(schema.items, data, instancePath);
    return [{ keyword: 'maxItems', params: { limit }, instancePath, parentSchema: schema, data }];
  }

  const properties = schema.properties ?? NO_PROPERTIES;
  const limit = schema.maxProperties ?? Object.keys(properties).length + STRANGERS_MAX;
  const names = Object.keys(data);
  if (names.length > limit) {
    return [{ keyword: 'maxProperties', params: { limit }, instancePath, parentSchema: schema, data }];
  }
  return within(properties, data as Readonly<Record<string, unknown>>, names, instancePath);
}

/** Looks into the entries of a list that is not too long itself. */
function inItems(items: Schema | undefined, data: readonly unknown[], instancePath: string): readonly Oversized[] {
  let found: readonly Oversized[] = NOTHING;
  if (items === undefined) return found;
  for (const [position, entry] of data.entries()) {
    const inner = oversized(items, entry, `${instancePath}/${position}`);
    if (inner.length > 0) found = [...found, ...inner];
  }
  return found;
}

/** Looks into the fields that are there. Nearly always nothing is found, and then nothing is made. */
function within(
  properties: Readonly<Record<string, Schema>>,
  data: Readonly<Record<string, unknown>>,
  names: readonly string[],
  instancePath: string,
): readonly Oversized[] {
  let found: readonly Oversized[] = NOTHING;
  for (const name of names) {
    const value = data[name];
    if (typeof value !== 'object' || value === null || !Object.hasOwn(properties, name)) continue;
    const inner = oversized(properties[name]!, value, `${instancePath}/${pointerPart(name)}`);
    if (inner.length > 0) found = [...found, ...inner];
  }
  return found;
}

const NOTHING: readonly Oversized[] = [];
const NO_PROPERTIES: Readonly<Record<string, Schema>> = {};
