import { Type } from 'typebox';

import { annotate, createBodyCheck } from '../rule/index.js';

/** `POST /api/v1/tenants`. */
export const tenantRequestSchema = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$',
      ...annotate({ 'x-expected': 'lowercase letters, digits and inner hyphens, starting with a letter, at most 63' }),
    }),
  },
  { additionalProperties: false },
);

/** `POST /api/v1/tenants`. */
export const checkTenantRequest = createBodyCheck(tenantRequestSchema);
