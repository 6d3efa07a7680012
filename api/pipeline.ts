import type { IncomingMessage, ServerResponse } from 'node:http';

import { reject } from '../crds/rejections/index.js';
import { asError, BrokenInvariantFault } from '../pkg/fault/index.js';
import { LeaseGoneFault } from '../pkg/store/index.js';
import { AuthCache, isNodeToken } from './access/auth-cache.js';
import { announceTenant, checkAccess, listTenantHeaders, resolveTenant } from './access/authorise.js';
import type { ConnectionGate } from './access/connections.js';
import { NodeProofs } from './access/node-proof.js';
import { type SeatKind, toSeatHolder, toSeatKind } from './access/seats.js';
import type { ApiEnv } from './env.js';
import { type BodyLimits, checkContentLength, readBody } from './http/body.js';
import { holdBack, limitExchange, onceClosed } from './http/deadlines.js';
import { type HostFilter, toAddressKey } from './http/hosts.js';
import { checkAuthorizationOnce } from './http/malformed.js';
import { parseQuery, readFlag } from './http/query.js';
import { internalFailure, rejectRequest, RequestRejection, toPlatformFailure, toRejectionReply } from './http/reply.js';
import { isShed, RequestLog, type RequestProgress, startRequestProgress } from './http/request-log.js';
import { abandonRequestSpan, endRequestSpan, startRequestSpan } from './http/request-span.js';
import { type RouteMatch, RouteTree } from './http/route-tree.js';
import { anonymous, type Caller, isGrowth, type Route, type RouteResult } from './http/route.js';
import { sendReply } from './http/send.js';
import { readDryRun, readKubernetesBody } from './k8s/request.js';
import { isKubernetesPath, toStatusReply } from './k8s/status.js';

/** What the pipeline works with. */
export interface PipelineEnv extends ApiEnv {
  readonly connections: ConnectionGate;
}

/** A request, where its answer goes, and what its client is counted under. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly address: string;
}

type FoundRoute = Extract<RouteMatch, { kind: 'route' }>;

interface IdentifiedCaller {
  readonly caller: Caller;
  /** SHA-256 of the body that was proven; undefined when it need not be. */
  readonly digest: string | undefined;
}

const MAX_SECONDS = 30;
/** For bodies of callers that have not proven anything, or only that they may join. */
const OPEN_MAX_SECONDS = 10;
/** What `Retry-After` says at least. */
const HOLD_BACK_MS = 1_000;

/**
 * What happens to every request, in this order and no other: limits, authentication, rate, tenant header, role, query,
 * body; and only then the route's own look-up inside the tenant.
 */
export class Pipeline {
  readonly #env: PipelineEnv;
  readonly #requestLog: RequestLog;
  readonly #authCache: AuthCache;
  readonly #nodeProofs: NodeProofs;
  readonly #tree: RouteTree;
  readonly #hosts: HostFilter;
  readonly #limits: BodyLimits;
  readonly #openLimits: BodyLimits;
  readonly #idPrefix: string;
  #requests = 0;

  /** `hosts` decides which Host headers are accepted. */
  constructor(env: PipelineEnv, routes: readonly Route[], hosts: HostFilter) {
    this.#env = env;
    this.#requestLog = new RequestLog(env);
    this.#authCache = new AuthCache(env);
    this.#nodeProofs = new NodeProofs(env);
    this.#tree = new RouteTree(routes);
    this.#hosts = hosts;
    const { maxBodyBytes, maxBodyDepth, openMaxBodyBytes } = env.settings;
    this.#limits = { maxBytes: maxBodyBytes, maxDepth: maxBodyDepth, maxSeconds: MAX_SECONDS };
    const openMaxBytes = Math.min(openMaxBodyBytes, maxBodyBytes);
    this.#openLimits = { maxBytes: openMaxBytes, maxDepth: maxBodyDepth, maxSeconds: OPEN_MAX_SECONDS };
    this.#idPrefix = `req_${env.random.bytes(6).toString('hex')}`;
  }

  /** Answers one request, whatever happens. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const progress = this.#begin(request.method ?? 'GET', request);
    let outcome: RouteResult;
    try {
      outcome = this.#seatStream(await this.#outcome(request, response, progress), request, progress);
    } catch (thrown) {
      // The client has gone.
      if (response.destroyed || request.errored) return abandonRequestSpan(progress);
      outcome = this.#failure(thrown, progress);
    }
    this.#answer(response, outcome, progress);
  }

  /** Answers bytes that could not be parsed as a request. */
  reject(response: ServerResponse, refused: RequestRejection): void {
    this.#answer(response, refused, this.#begin(response.req.method ?? 'none'));
  }

  #begin(method: string, request?: IncomingMessage): RequestProgress {
    const { tracer } = this.#env;
    const span = tracer && request && startRequestSpan(tracer, request);
    const requestId = `${this.#idPrefix}${(++this.#requests).toString(36)}`;
    const startedAt = this.#env.clock.monotonic();
    return startRequestProgress({ requestId, method, startedAt, span });
  }

  #answer(response: ServerResponse, outcome: RouteResult, progress: RequestProgress): void {
    const toReply = progress.isKubernetes ? toStatusReply : toRejectionReply;
    const reply = outcome instanceof RequestRejection ? toReply(outcome, this.#env.baseUrl()) : outcome;
    const bytes = sendReply(response, reply, progress.requestId, progress.method === 'HEAD');
    limitExchange(response, bytes, this.#env.clock);
    if (outcome instanceof RequestRejection) this.#holdBack(response, outcome, progress);
    this.#requestLog.record(progress, reply.status, outcome);
    endRequestSpan(progress, reply.status, outcome);
  }

  /** Agents are not held back: the same connection carries their heartbeats. Nor is a proxy, which speaks for many. */
  #holdBack(response: ServerResponse, { rejections }: RequestRejection, { caller }: RequestProgress): void {
    if (!isShed(rejections[0].code) || caller.kind === 'node') return;
    const { socket } = response.req;
    if (!this.#authCache.isSole(socket, caller)) return;
    onceClosed(response, () => holdBack(socket, HOLD_BACK_MS, this.#env.clock));
  }

  /** A stream leaves its seat among the requests, which are short, and takes one among the streams. */
  #seatStream(outcome: RouteResult, { socket }: IncomingMessage, progress: RequestProgress): RouteResult {
    if (outcome instanceof RequestRejection || 'body' in outcome) return outcome;
    if (!('open' in outcome)) throw new BrokenInvariantFault('a handler has answered what cannot be sent');
    if (progress.caller.kind === 'node') return outcome;
    const holder = toSeatHolder(progress.caller, toAddressKey(socket.remoteAddress));
    const seat = this.#env.seats.take('streams', holder);
    if (seat instanceof RequestRejection) {
      outcome.abandon?.();
      return seat;
    }
    progress.release();
    progress.release = () => {
      progress.release = () => undefined;
      seat();
    };
    if (progress.isClosed) progress.release();
    return outcome;
  }

  async #outcome(request: IncomingMessage, response: ServerResponse, progress: RequestProgress): Promise<RouteResult> {
    const { url = '/', headers } = request;
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    progress.isKubernetes = isKubernetesPath(path);
    const strange = this.#hosts.check(headers.host, request.rawHeaders);
    if (strange) return strange;
    const found = this.#tree.find(progress.method, path);
    if (found.kind === 'nothing') return rejectRequest('endpoint_not_found', 'path', path);
    if (found.kind === 'route') {
      const address = toAddressKey(request.socket.remoteAddress);
      return this.#admitted({ request, response, address }, found, mark < 0 ? '' : url.slice(mark + 1), progress);
    }
    const refusal = reject('method_not_allowed', 'method', progress.method, { methods: found.allowed });
    return new RequestRejection(refusal, { allow: found.allowed.join(', ') });
  }

  async #admitted(
    exchange: Exchange,
    { route, params }: FoundRoute,
    search: string,
    progress: RequestProgress,
  ): Promise<RouteResult> {
    progress.route = route;
    const { request, address } = exchange;
    const limits = isJoinable(route) ? this.#openLimits : this.#limits;
    const tooLarge = route.body === 'json' ? checkContentLength(request, limits) : undefined;
    if (tooLarge) return tooLarge;

    const identified = await this.#identify(request, route, progress);
    if (identified instanceof RequestRejection) return identified;
    const { caller, digest } = identified;
    progress.caller = caller;
    const busy = this.#checkRate(route, caller, address) ?? this.#seat(exchange, route, limits, progress);
    if (busy) return busy;
    if (caller.kind !== 'anonymous') this.#env.connections.prove(request.socket, caller);

    const tenant = await resolveTenant(caller, route.tenant, listTenantHeaders(request), this.#env.cache);
    if (tenant instanceof RequestRejection) return tenant;
    progress.tenant = tenant;
    const forbidden = checkAccess(caller, route.access);
    if (forbidden) return forbidden;

    const { isKubernetes, requestId, span } = progress;
    const query = parseQuery(search, route.query, isKubernetes);
    if (query instanceof RequestRejection) return query;
    const toDocument = isKubernetes ? readKubernetesBody : readBody;
    const signed = digest === undefined ? limits : { digest, ...limits };
    const read = await toDocument(request, route.body, signed, this.#env.clock);
    if (read instanceof RequestRejection) return read;
    const isDryRun = isKubernetes ? readDryRun(query) : readFlag(query, 'dryRun');
    if (isDryRun instanceof RequestRejection) return isDryRun;
    const mayGrow = isDryRun || caller.kind !== 'tenant' || !isGrowth(route); // an administrator may make room otherwise
    if (!mayGrow && this.#env.storeReport?.()?.isReserved) return rejectRequest('store_full', 'request', '');
    const outcome = await route.handle({ request, requestId, span, caller, tenant, params, query, isDryRun, ...read });
    return announceTenant(outcome, listTenantHeaders(request)[0], tenant);
  }

  /** An open route with a body counts only what is not signed, and does so itself. */
  #checkRate({ access, body }: Route, caller: Caller, address: string): RequestRejection | undefined {
    return access === 'open' && body !== 'none' ? undefined : this.#env.rateLimiter.check(caller, address);
  }

  /** Takes a seat, and room for the body, until the answer is out. Gives the refusal when there is none. */
  #seat(
    exchange: Exchange,
    route: Route,
    { maxBytes }: BodyLimits,
    progress: RequestProgress,
  ): RequestRejection | undefined {
    const { seats } = this.#env;
    const { caller } = progress;
    const kind = toSeatKind(caller, route);
    if (!kind) return undefined;
    const seat = this.#takeSeat(exchange, route, caller, kind);
    if (seat instanceof RequestRejection) return seat;
    const bytes = Number(exchange.request.headers['content-length'] ?? maxBytes);
    const room = route.body === 'json' ? seats.takeBody(caller, bytes) : undefined;
    if (room instanceof RequestRejection) {
      seat();
      return room;
    }
    progress.release = () => {
      progress.release = () => undefined;
      seat();
      room?.();
    };
    onceClosed(exchange.response, () => {
      progress.isClosed = true;
      progress.release();
    });
    return undefined;
  }

  /** Others at the address of a node must not keep its renewals out: what the node has signed has seats of its own. */
  #takeSeat(
    { request, address }: Exchange,
    { body }: Route,
    caller: Caller,
    kind: SeatKind,
  ): (() => void) | RequestRejection {
    const { seats } = this.#env;
    const seat = seats.take(kind, toSeatHolder(caller, address));
    if (!(seat instanceof RequestRejection) || kind !== 'openBodies') return seat;
    const node = this.#nodeProofs.findSigner(request, body);
    return node === undefined ? seat : seats.take('agents', { node });
  }

  /** Who calls. A node's token counts only with a proof; `digest` is then what the body must have. */
  async #identify(
    request: IncomingMessage,
    route: Route,
    progress: RequestProgress,
  ): Promise<IdentifiedCaller | RequestRejection> {
    if (route.access === 'open') return { caller: anonymous, digest: undefined };
    const twice = checkAuthorizationOnce(request);
    if (twice) return twice;
    const caller = await this.#authCache.identify(request.socket, request.headers.authorization);
    if (caller instanceof RequestRejection) return this.#slowDown(request, caller);
    if (caller.kind !== 'node') return { caller, digest: undefined };
    // Before rate and seats: a token that was stolen without its key must cost the node nothing.
    const forbidden = checkAccess(caller, route.access);
    if (forbidden) {
      progress.caller = caller;
      return forbidden;
    }
    const proof = await this.#nodeProofs.check(caller, request, route.body);
    return proof instanceof RequestRejection ? proof : { caller, ...proof };
  }

  /** A node always gets the refusal, also while its address is limited: without the key a token is worth nothing. */
  #slowDown({ socket, headers }: IncomingMessage, refused: RequestRejection): RequestRejection {
    if (isNodeToken(headers.authorization)) return refused;
    return this.#env.rateLimiter.checkFailedAuth(toAddressKey(socket.remoteAddress)) ?? refused;
  }

  #failure(thrown: unknown, { requestId, route, tenant }: RequestProgress): RequestRejection {
    if (thrown instanceof LeaseGoneFault) this.#env.committer.discardLeases();
    const foreseen = toPlatformFailure(thrown);
    const fields = { requestId, tenant, ...(route && { route: route.path }), error: asError(thrown) };
    if (foreseen) this.#env.log.warn('request failed', fields);
    else this.#env.log.error('request failed', fields);
    return foreseen ?? internalFailure;
  }
}

/** Whether callers of a route have proven nothing, or only that they may join. */
function isJoinable({ access }: Route): boolean {
  return access === 'open' || access.join === true;
}
