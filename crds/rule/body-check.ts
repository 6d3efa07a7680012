import type { Static, TObject } from 'typebox';

import type { Rejection, Rejections } from '../rejections/index.js';
import { createValidator } from './validator.js';
import type { FieldRules } from './rule.js';

/** A body that may be used, or everything that is wrong with it. */
export type CheckResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly rejections: Rejections };

/** A refusal, when there is anything to refuse. */
export function toRefusal(
  rejections: readonly Rejection[],
): { readonly ok: false; readonly rejections: Rejections } | undefined {
  const [first, ...rest] = rejections;
  return first && { ok: false, rejections: [first, ...rest] };
}

/** Makes the check of a body whose schema, with a few rules, says everything about it. */
export function createBodyCheck<Schema extends TObject>(
  schema: Schema,
  fields: readonly FieldRules<undefined>[] = [],
): (document: unknown) => CheckResult<Static<Schema>> {
  const examine = createValidator(schema, fields);
  return document => toRefusal(examine(document, () => undefined)) ?? { ok: true, value: document as Static<Schema> };
}
