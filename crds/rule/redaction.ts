import type { TSchema } from 'typebox';

import type { FieldPath } from '../grammar/index.js';
import { type Rejection, unquoted } from '../rejections/index.js';
import type { Schema } from './oversized.js';

/** Takes out of a rejection what was sent at a place, where a schema says that nothing below it is ever quoted. */
export function redactionBy(schema: TSchema): (rejection: Rejection, at: FieldPath, document: unknown) => Rejection {
  return (rejection, at, document) =>
    isCovered(schema as Schema, at) ? unquoted(rejection, valueAt(document, at)) : rejection;
}

function isCovered(schema: Schema, { parts }: FieldPath): boolean {
  let here: Schema | undefined = schema;
  for (const part of parts) {
    if (here?.['x-redact'] === 'throughout') return true;
    here = typeof part === 'number' ? here?.items : here?.properties?.[part];
  }
  return here?.['x-redact'] === 'throughout';
}

function valueAt(document: unknown, { parts }: FieldPath): unknown {
  return parts.reduce<unknown>((holder, part) => {
    const isHolder = typeof holder === 'object' && holder !== null && Object.hasOwn(holder, part);
    return isHolder ? (holder as Record<string | number, unknown>)[part] : undefined;
  }, document);
}
