import { pointerPart } from '../grammar/index.js';
import type { Annotations } from './annotations.js';

/** What this package reads of a JSON Schema. */
export interface Schema extends Annotations {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
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
  if (typeof data !== 'object' || data === null) return [];
  if (Array.isArray(data)) {
    const limit = schema.maxItems ?? Number.POSITIVE_INFINITY;
    if (data.length <= limit) return [];
    return [{ keyword: 'maxItems', params: { limit }, instancePath, parentSchema: schema, data }];
  }

  const limit = schema.maxProperties ?? Object.keys(schema.properties ?? {}).length + STRANGERS_MAX;
  if (Object.keys(data).length > limit) {
    return [{ keyword: 'maxProperties', params: { limit }, instancePath, parentSchema: schema, data }];
  }
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
    Object.hasOwn(data, name)
      ? oversized(inner, (data as Record<string, unknown>)[name], `${instancePath}/${pointerPart(name)}`)
      : [],
  );
}
