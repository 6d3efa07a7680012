import { type Static, Type } from 'typebox';

import {
  type Alteration,
  annotate,
  type CheckResult,
  createBodyCheck,
  createValidator,
  recordAlterations,
  rule,
  toCheckFailure,
} from '../rule/index.js';

/** `tenants/<uuid>`. */
export interface StoredTenant {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  /** The platform's own tenant may place work on the control plane's node. */
  readonly platform: boolean;
  /** Set by the platform where the configured quotas do not fit this tenant. */
  readonly quotas?: Readonly<Record<string, number | null>>;
  /** Set by the tenant: volumes that are nearly full are grown as recommended. */
  readonly autoGrow?: true;
}

/** Whom a token speaks for. */
export type TokenKind = 'tenant' | 'admin' | 'node' | 'join';
/** What a tenant's token may do, each including the one before. */
export type Role = 'viewer' | 'deployer' | 'admin';

/** Everything about a token except its secret, of which only an HMAC is kept. */
export interface StoredToken {
  readonly id: string;
  readonly kind: TokenKind;
  /** Hex of HMAC-SHA-256(pepper, secret). */
  readonly digest: string;
  /** Absent for platform administrators only. */
  readonly tenant?: string;
  readonly role?: Role;
  /** The node a node token speaks for, or the only node name a join token may enrol. */
  readonly node?: string;
  readonly nodeName?: string;
  readonly description: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string;
  /** Of a join token that an administrator of the platform has issued: it may also enrol the node of the control plane. */
  readonly platform?: true;
  /** A join token is used up by one public key, which alone may repeat the enrolment. */
  readonly usedBy?: string;
}

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

const HOUR = 3600;
const DAY = 24 * HOUR;

/** How long a token of each kind lives, in seconds: by default, and at most. */
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
        pattern: '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$',
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
  /** Of a tenant's token only. Default: the least. */
  readonly role?: Role;
  /** The tenant asked for; the caller's own when absent. */
  readonly tenant?: string;
  readonly description: string;
  readonly expiresInSeconds: number;
  /** Everything that the client did not send. */
  readonly alterations: readonly Alteration[];
}

type TokenKindFacts = { readonly kind: TokenRequest['kind'] };

const onlyForTenants = rule('field_invalid', (value: string, at, refuse, { kind }: TokenKindFacts) =>
  kind === 'admin'
    ? refuse(at, value, { wanted: 'nothing: an administrator’s token belongs to no tenant' })
    : undefined,
);

const livesNotTooLong = rule('field_invalid', (seconds: number, at, refuse, { kind }: TokenKindFacts) =>
  seconds > LIFE[kind].longest ? refuse(at, seconds, { wanted: `at most ${LIFE[kind].longest} seconds` }) : undefined,
);

const validate = createValidator<TokenKindFacts>(tokenRequestSchema, [
  { field: 'kind', present: [] },
  { field: 'role', present: [onlyForTenants] },
  { field: 'tenant', present: [onlyForTenants] },
  { field: 'expiresInSeconds', present: [livesNotTooLong] },
]);

/** Why the id of a tenant is announced as altered. */
export const TENANT_LOWERED = 'the id of a tenant is written in lower case';

/** `POST /api/v1/tokens`. */
export function checkTokenRequest(document: unknown): CheckResult<TokenRequest> {
  const asked = (document ?? {}) as Static<typeof tokenRequestSchema>;
  const kind = asked.kind === 'admin' ? 'admin' : 'tenant';
  const refusal = toCheckFailure(validate(document, () => ({ kind })));
  if (refusal) return refusal;
  const { alterations, announce } = recordAlterations();
  const withDefault = <Value>(field: string, sent: Value | undefined, fallback: Value): Value => {
    if (sent === undefined) announce(field, null, fallback, 'default');
    return sent ?? fallback;
  };
  const tenant = asked.tenant?.toLowerCase();
  if (tenant !== asked.tenant) announce('tenant', asked.tenant, tenant, TENANT_LOWERED);
  return {
    ok: true,
    value: {
      kind: withDefault('kind', asked.kind, kind),
      ...(kind === 'tenant' && { role: withDefault('role', asked.role, 'viewer') }),
      ...(tenant !== undefined && { tenant }),
      description: asked.description ?? '',
      expiresInSeconds: withDefault('expiresInSeconds', asked.expiresInSeconds, LIFE[kind].usual),
      alterations,
    },
  };
}

/** `POST /api/v1/tokens/sign-in`. */
export const signInRequestSchema = Type.Object(
  { code: Type.String(annotate({ 'x-expected': 'the code of a sign-in link' })) },
  { additionalProperties: false },
);

/** `POST /api/v1/tokens/sign-in`. */
export const checkSignInRequest = createBodyCheck(signInRequestSchema);
