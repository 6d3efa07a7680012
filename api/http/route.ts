import type { Role, TokenKind } from '../../crds/tenant/index.js';
import { BrokenInvariantFault } from '../../pkg/fault/index.js';
import type { RequestRejection } from './rejection.js';
import type { Reply } from './reply.js';
import type { ApiCall } from './call.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * Who may call a route: anyone (`open`), or the holders of certain kinds of token. A tenant's token also needs
 * at least the role named here.
 */
export type Access =
  | 'open'
  | { readonly tenant?: Role; readonly admin?: true; readonly node?: true; readonly join?: true };

/**
 * Which tenant a call is about.
 *
 * - `none`: it is about no tenant; the header is not looked at.
 * - `own`: exactly one: the token's, or the one an administrator names in `X-Tenant-ID`.
 * - `chosen`: the same, but an administrator may also name none and speak for the platform.
 */
export type TenantRule = 'none' | 'own' | 'chosen';

/** What the body must be. `stream` is read by the handler itself, bit by bit. */
export type BodyRule = 'none' | 'json' | 'stream';

/** One row of the route table: everything about an endpoint except what it does is decided here. */
export interface Route {
  readonly method: Method;
  /** Segments in braces are parameters: `/api/v1/deployments/{name}`. */
  readonly path: string;
  readonly access: Access;
  readonly tenant: TenantRule;
  /** The query parameters it knows. Any other is refused. */
  readonly query: readonly string[];
  readonly body: BodyRule;
  readonly handle: (call: ApiCall) => RouteResult | Promise<RouteResult>;
}

/** What a handler returns. */
export type RouteResult = Reply | RequestRejection;

/** The kinds of token that a route accepts. */
export function listTokenKinds(access: Access): readonly TokenKind[] {
  return access === 'open' ? [] : (Object.keys(access) as TokenKind[]);
}

/** Throws when a route does not declare its access and its tenant, or contradicts itself. */
export function checkRoutes(routes: readonly Route[]): void {
  const seen = new Set<string>();
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    for (const problem of problemsOf(route)) throw new BrokenInvariantFault(`${name}: ${problem}`);
    const shape = name.replace(/\{[^}]*\}/g, '{}');
    if (seen.has(shape)) throw new BrokenInvariantFault(`${name}: declared twice`);
    seen.add(shape);
  }
}

function* problemsOf({ method, access, tenant, body }: Route): Generator<string> {
  // A row may come from a plugin or a cast, where the compiler did not insist.
  if (access === undefined || tenant === undefined) {
    yield 'declares no access';
    return;
  }
  const kinds = listTokenKinds(access);
  if (access !== 'open' && kinds.length === 0) yield 'accepts no kind of token';
  if (access === 'open' && tenant !== 'none') yield 'is open but has a tenant';
  if (kinds.includes('tenant') && tenant === 'none') yield 'accepts tenant tokens but has no tenant';
  if (kinds.includes('node') && kinds.length > 1) yield 'accepts node tokens together with others';
  if (method === 'GET' && body !== 'none') yield 'is a GET with a body';
}
