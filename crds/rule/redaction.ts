import type { TSchema } from 'typebox';

import type { FieldPath } from '../grammar/index.js';
import { type Rejection, redactReceived } from '../rejections/index.js';
import type { SchemaNode } from './oversized.js';

/** Takes out of a rejection what was sent at a place, where a schema says that nothing below it is ever quoted. */
export function createRedaction(
  schema: TSchema,
): (rejection: Rejection, at: FieldPath, document: unknown) => Rejection {
  return (rejection, at, document) => {
    const value = valueAt(document, at);
    return isCovered(schema as SchemaNode, at, value) ? redactReceived(rejection, value) : rejection;
  };
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
