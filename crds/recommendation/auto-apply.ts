import { Type } from 'typebox';

import { annotate, createBodyCheck } from '../rule/index.js';

/** `PUT /api/v1/dvm/recommendations/auto-apply`. */
export const autoApplySchema = Type.Object(
  { growth: Type.Boolean({ ...annotate({ 'x-expected': 'true or false' }) }) },
  { additionalProperties: false },
);

/** Judges a tenant's request to have recommendations of growth applied by themselves, or not any more. */
export const checkAutoApply = createBodyCheck(autoApplySchema);
