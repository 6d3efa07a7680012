import type { IncomingMessage, ServerResponse } from 'node:http';

import { reject } from '../crds/rejections/index.js';
import { asError } from '../pkg/fault/index.js';
import { LeaseGoneFault } from '../pkg/store/index.js';
import { AuthCache } from './access/auth-cache.js';
import { checkAccess, resolveTenant } from './access/authorise.js';
import { NodeProofs } from './access/node-proof.js';
import type { ApiEnv } from './env.js';
import { type BodyLimits, checkContentLength, checkContentType, readJsonBody } from './http/body.js';
import type { HostFilter } from './http/hosts.js';
import { parseQuery, readFlag } from './http/query.js';
import { internalFailure, rejectRequest, RequestRejection, toPlatformFailure, toRejectionReply } from './http/reply.js';
import { RequestLog, type RequestProgress } from './http/request-log.js';
import { type RouteMatch, RouteTree } from './http/route-tree.js';
import { anonymous, type Caller, type Route, type RouteResult } from './http/route.js';
import { sendReply } from './http/send.js';

type FoundRoute = Extract<RouteMatch, { kind: 'route' }>;

interface IdentifiedCaller {
  readonly caller: Caller;
  /** SHA-256 of the body that was proven; undefined when it need not be. */
  readonly digest: string | undefined;
}

/** Refused although the node's key has signed: that is no guess. */
const SIGNED: ReadonlySet<string> = new Set(['node_proof_stale', 'node_proof_replayed']);
const MAX_SECONDS = 30;
const NONE: readonly string[] = [];
const NO_DOCUMENT = { document: undefined };

/**
 * What happens to every request, in this order and no other: limits, authentication, rate, tenant header, role, query,
 * body; and only then the route's own look-up inside the tenant.
 */
export class Pipeline {
  readonly #env: ApiEnv;
  readonly #requestLog: RequestLog;
  readonly #authCache: AuthCache;
  readonly #nodeProofs: NodeProofs;
  readonly #tree: RouteTree;
  readonly #hosts: HostFilter;
  readonly #limits: BodyLimits;
  readonly #idPrefix: string;
  #requests = 0;

  /** `hosts` decides which Host headers are accepted. */
  constructor(env: ApiEnv, routes: readonly Route[], hosts: HostFilter) {
    this.#env = env;
    this.#requestLog = new RequestLog(env);
    this.#authCache = new AuthCache(env);
    this.#nodeProofs = new NodeProofs(env);
    this.#tree = new RouteTree(routes);
    this.#hosts = hosts;
    const { maxBodyBytes, maxBodyDepth } = env.settings;
    this.#limits = { maxBytes: maxBodyBytes, maxDepth: maxBodyDepth, maxSeconds: MAX_SECONDS };
    this.#idPrefix = `req_${env.random.bytes(6).toString('hex')}`;
  }

  /** Answers one request, whatever happens. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const progress = this.#begin(request.method ?? 'GET');
    let outcome: RouteResult;
    try {
      outcome = await this.#outcome(request, progress);
    } catch (thrown) {
      if (response.destroyed || request.errored) return; // the client has gone
      outcome = this.#failure(thrown, progress);
    }
    this.#answer(response, outcome, progress);
  }

  /** Answers bytes that could not be parsed as a request. */
  reject(response: ServerResponse, refused: RequestRejection): void {
    this.#answer(response, refused, this.#begin(response.req.method ?? 'none'));
  }

  #begin(method: string): RequestProgress {
    const requestId = `${this.#idPrefix}${(++this.#requests).toString(36)}`;
    const startedAt = this.#env.clock.monotonic();
    return { requestId, method, startedAt, route: undefined, caller: anonymous, tenant: '' };
  }

  #answer(response: ServerResponse, outcome: RouteResult, progress: RequestProgress): void {
    const reply = outcome instanceof RequestRejection ? toRejectionReply(outcome, this.#env.baseUrl()) : outcome;
    sendReply(response, reply, progress.requestId, progress.method === 'HEAD');
    this.#requestLog.record(progress, reply.status, outcome);
  }

  async #outcome(request: IncomingMessage, progress: RequestProgress): Promise<RouteResult> {
    const { url = '/', headers } = request;
    const { method } = progress;
    const strange = this.#hosts.check(headers.host);
    if (strange) return strange;
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const found = this.#tree.find(method, path);
    if (found.kind === 'nothing') return rejectRequest('endpoint_not_found', 'path', path);
    if (found.kind === 'route') return this.#admitted(request, found, mark < 0 ? '' : url.slice(mark + 1), progress);
    const { allowed } = found;
    const refusal = reject('method_not_allowed', 'method', method, { methods: allowed });
    return new RequestRejection(refusal, { allow: allowed.join(', ') });
  }

  async #admitted(
    request: IncomingMessage,
    { route, params }: FoundRoute,
    search: string,
    progress: RequestProgress,
  ): Promise<RouteResult> {
    progress.route = route;
    const tooLarge = route.body === 'json' ? checkContentLength(request, this.#limits) : undefined;
    if (tooLarge) return tooLarge;

    const identified = await this.#identify(request, route);
    if (identified instanceof RequestRejection) return identified;
    const { caller, digest } = identified;
    progress.caller = caller;
    const busy = this.#env.rateLimiter.check(caller);
    if (busy) return busy;

    const tenant = await resolveTenant(caller, route.tenant, tenantHeaders(request), this.#env.cache);
    if (tenant instanceof RequestRejection) return tenant;
    progress.tenant = tenant;
    const forbidden = checkAccess(caller, route.access);
    if (forbidden) return forbidden;

    const query = parseQuery(search, route.query);
    if (query instanceof RequestRejection) return query;
    const read =
      route.body === 'json'
        ? (checkContentType(request) ?? (await readJsonBody(request, { ...this.#limits, digest }, this.#env.clock)))
        : NO_DOCUMENT;
    if (read instanceof RequestRejection) return read;
    const isDryRun = readFlag(query, 'dryRun');
    if (isDryRun instanceof RequestRejection) return isDryRun;
    const { requestId } = progress;
    const { document } = read;
    return route.handle({ request, requestId, caller, tenant, params, query, isDryRun, document });
  }

  /** Who calls. A node's token counts only with a proof; `digest` is then what the body must have. */
  async #identify(request: IncomingMessage, route: Route): Promise<IdentifiedCaller | RequestRejection> {
    if (route.access === 'open') return { caller: anonymous, digest: undefined };
    const caller = await this.#authCache.identify(request.socket, request.headers.authorization);
    if (caller instanceof RequestRejection) return this.#slowDown(request, caller);
    if (caller.kind !== 'node' || !route.access.node) return { caller, digest: undefined };
    const proof = await this.#nodeProofs.check(caller, request, route.body);
    if (!(proof instanceof RequestRejection)) return { caller, ...proof };
    return SIGNED.has(proof.rejections[0].code) ? proof : this.#slowDown(request, proof);
  }

  #slowDown({ socket }: IncomingMessage, refused: RequestRejection): RequestRejection {
    return this.#env.rateLimiter.checkFailedAuth(socket.remoteAddress ?? '') ?? refused;
  }

  #failure(thrown: unknown, { requestId, route, tenant }: RequestProgress): RequestRejection {
    if (thrown instanceof LeaseGoneFault) {
      this.#env.eventLeases.discard();
      this.#env.conflictLeases.discard();
    }
    const foreseen = toPlatformFailure(thrown);
    const fields = { requestId, tenant, ...(route && { route: route.path }), error: asError(thrown) };
    if (foreseen) this.#env.log.warn('request failed', fields);
    else this.#env.log.error('request failed', fields);
    return foreseen ?? internalFailure;
  }
}

/** Every `X-Tenant-ID` that was sent: Node would join two of them into one. */
function tenantHeaders(request: IncomingMessage): readonly string[] {
  if (request.headers['x-tenant-id'] === undefined) return NONE;
  return request.headersDistinct['x-tenant-id'] ?? NONE;
}
