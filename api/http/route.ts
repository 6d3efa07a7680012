import type { IncomingMessage } from 'node:http';

import type { ObjectNotes } from '../../crds/meta/index.js';
import type { Role, StoredToken, TokenKind } from '../../crds/tenant/index.js';
import type { Clock, Random } from '../../pkg/clock/index.js';
import { BrokenInvariantFault } from '../../pkg/fault/index.js';
import type { Logger } from '../../pkg/log/index.js';
import type { Cache, Store } from '../../pkg/store/index.js';
import type { Span } from '../../pkg/trace/index.js';
import { type QueryParams, WRITE_QUERY } from './query.js';
import type { Reply, RequestRejection } from './reply.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

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
 * - `named`: the same, and the header names it for every caller.
 * - `chosen`: the same as `own`, but an administrator may also name none and speak for the platform.
 */
export type TenantRule = 'none' | 'own' | 'named' | 'chosen';

/** What the body must be. `stream` is read by the handler itself, piece by piece. */
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
  /** Whether it is a liveness probe: it is then answered however many requests are under way. */
  readonly isProbe?: true;
  /** Belongs to the Kubernetes face: unknown parameters are ignored, and refusals are answered in the words of Kubernetes. */
  readonly face?: 'kubernetes';
  /** It stores nothing, or what cannot wait until the database has room: it is not refused while that is nearly full. */
  readonly grows?: false;
  readonly handle: (call: ApiCall) => RouteResult | Promise<RouteResult>;
}

/**
 * Declares a row of the route table. A role stands for tokens of a tenant with at least that role, and administrators.
 * Unless `more` says otherwise it is about one tenant, writes take `dryRun`, and POST, PUT and PATCH take a JSON body.
 */
export function defineRoute(
  access: Role | Access,
  method: Method,
  path: string,
  handle: Route['handle'],
  more: Partial<Pick<Route, 'tenant' | 'query' | 'body' | 'grows'>> = {},
): Route {
  return {
    method,
    path,
    access: typeof access === 'object' || access === 'open' ? access : { tenant: access, admin: true },
    tenant: 'own',
    query: method === 'GET' ? [] : WRITE_QUERY,
    body: method === 'GET' || method === 'DELETE' ? 'none' : 'json',
    handle,
    ...more,
  };
}

/** What a handler returns. */
export type RouteResult = Reply | RequestRejection;

/** The kinds of token that a route accepts. */
export function listTokenKinds(access: Access): readonly TokenKind[] {
  return access === 'open' ? [] : (Object.keys(access) as TokenKind[]);
}

/** Whether a tenant can fill the database by it. Deletions make room. */
export function isGrowth({ method, access, grows }: Pick<Route, 'method' | 'access' | 'grows'>): boolean {
  if (grows === false) return false;
  return method !== 'GET' && method !== 'DELETE' && access !== 'open' && access.tenant !== undefined;
}

/** Throws when a route does not declare its access and its tenant, or contradicts itself. */
export function checkRoutes(routes: readonly Route[]): void {
  const seen = new Set<string>();
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    for (const problem of listProblems(route)) throw new BrokenInvariantFault(`${name}: ${problem}`);
    const shape = name.replace(/\{[^}]*\}/g, '{}');
    if (seen.has(shape)) throw new BrokenInvariantFault(`${name}: declared twice`);
    seen.add(shape);
  }
}

function* listProblems({ method, access, tenant, body }: Route): Generator<string> {
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

/** Who is calling, as the token proved it. */
export interface Caller {
  readonly kind: TokenKind | 'anonymous';
  /** Public id of the token: what logs and archives name. */
  readonly id: string;
  readonly tenant: string | undefined;
  readonly role: Role | undefined;
  readonly token: StoredToken | undefined;
}

const DESCRIPTION_SHOWN = 80;

/** Who is calling, for people: by the public id and the description of the token, never by the token. */
export function describeCaller({ kind, id, token }: Caller): string {
  // How the platform describes its tokens is not the tenants' business.
  if (kind === 'admin') return `an administrator of the platform (token ${id})`;
  const description = token?.description.slice(0, DESCRIPTION_SHOWN) ?? '';
  return description === '' ? `token ${id}` : `token ${id} (${description})`;
}

/** The caller of an open route. */
export const anonymous: Caller = { kind: 'anonymous', id: '', tenant: undefined, role: undefined, token: undefined };

const RANK: Readonly<Record<Role, number>> = { viewer: 1, deployer: 2, admin: 3 };

/** Whether one role includes another. */
export function includesRole(held: Role | undefined, needed: Role): boolean {
  return held !== undefined && RANK[held] >= RANK[needed];
}

/** A request that has passed the pipeline: who calls, for which tenant, with what. */
export interface ApiCall {
  readonly request: IncomingMessage;
  readonly requestId: string;
  /** Undefined when the request is not traced. */
  readonly span?: Span | undefined;
  readonly caller: Caller;
  /** The tenant the call is about; empty when it is about none. */
  readonly tenant: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryParams;
  /** The client sent `dryRun=true`: the answer says what would change, and nothing is stored. */
  readonly isDryRun: boolean;
  /** The parsed body of a route that takes JSON. */
  readonly document: unknown;
  /** What a client of Kubernetes keeps with the object that is written, by the spec that is stored. */
  readonly toNotes?: (spec: object) => ObjectNotes;
}

/** What the API reads from the store itself. What changes the store is `api/write`. */
export type ReadableStore = Pick<Store, 'get' | 'list' | 'page'>;

/** What nearly every handler reads objects with. */
export interface StorageEnv {
  readonly store: ReadableStore;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
