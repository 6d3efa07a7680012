import { type Static, type TSchema, type TUnsafe, Type } from 'typebox';

import type { Annotations } from './annotations.js';

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
