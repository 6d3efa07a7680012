import { type Static, Type } from 'typebox';

import { annotate, type CheckResult, createValidator, toRefusal, rule } from '../rule/index.js';
import type { Role } from './tenant.js';

const HOUR = 3600;
const DAY = 24 * HOUR;

/** How long a token of each kind lives, in seconds: when nobody says, and at most. */
const LIFE = {
  tenant: { usual: 90 * DAY, longest: 365 * DAY },
  admin: { usual: 12 * HOUR, longest: 30 * DAY },
} as const;
const SHORTEST = 60;

/** `POST /api/v1/tokens`. */
export const tokenRequestSchema = Type.Object(
  {
    kind: Type.Optional(
      Type.Enum(['tenant', 'admin'], { type: 'string', ...annotate({ 'x-expected': 'tenant or admin' }) }),
    ),
    role: Type.Optional(
      Type.Enum(['viewer', 'deployer', 'admin'], {
        type: 'string',
        ...annotate({ 'x-expected': 'viewer, deployer or admin' }),
      }),
    ),
    tenant: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
        ...annotate({ 'x-expected': 'the UUID of a tenant' }),
      }),
    ),
    description: Type.Optional(
      Type.String({ maxLength: 200, ...annotate({ 'x-expected': 'at most 200 characters' }) }),
    ),
    expiresInSeconds: Type.Optional(
      Type.Integer({ minimum: SHORTEST, ...annotate({ 'x-expected': 'a number of seconds, 60 or more' }) }),
    ),
  },
  { additionalProperties: false },
);

/** What a new token is to be, with every default filled in. */
export interface TokenRequest {
  readonly kind: 'tenant' | 'admin';
  /** Of a tenant's token only. The least, when nobody says. */
  readonly role?: Role;
  /** The tenant asked for; the caller's own when absent. */
  readonly tenant?: string;
  readonly description: string;
  readonly expiresInSeconds: number;
}

type Kind = { readonly kind: TokenRequest['kind'] };

const onlyForTenants = rule('field_invalid', (value: string, at, { kind }: Kind, refuse) =>
  kind === 'admin'
    ? refuse(at, value, { wanted: 'nothing: an administrator’s token belongs to no tenant' })
    : undefined,
);

const livesNotTooLong = rule('field_invalid', (seconds: number, at, { kind }: Kind, refuse) =>
  seconds > LIFE[kind].longest ? refuse(at, seconds, { wanted: `at most ${LIFE[kind].longest} seconds` }) : undefined,
);

const examine = createValidator<Kind>(tokenRequestSchema, [
  { field: 'kind', present: [] },
  { field: 'role', present: [onlyForTenants] },
  { field: 'tenant', present: [onlyForTenants] },
  { field: 'expiresInSeconds', present: [livesNotTooLong] },
]);

/** `POST /api/v1/tokens`. */
export function checkTokenRequest(document: unknown): CheckResult<TokenRequest> {
  const asked = (document ?? {}) as Static<typeof tokenRequestSchema>;
  const kind = asked.kind === 'admin' ? 'admin' : 'tenant';
  const refusal = toRefusal(examine(document, () => ({ kind })));
  if (refusal) return refusal;
  return {
    ok: true,
    value: {
      kind,
      ...(kind === 'tenant' && { role: asked.role ?? 'viewer' }),
      ...(asked.tenant !== undefined && { tenant: asked.tenant }),
      description: asked.description ?? '',
      expiresInSeconds: asked.expiresInSeconds ?? LIFE[kind].usual,
    },
  };
}
