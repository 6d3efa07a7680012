import type { IncomingMessage, ServerResponse } from 'node:http';

import { reject } from '../crds/rejections/index.js';
import { asError } from '../pkg/fault/index.js';
import { LeaseGoneFault } from '../pkg/store/index.js';
import { authenticate } from './access/authenticate.js';
import { authorise } from './access/authorise.js';
import { type Caller, nobody } from './access/caller.js';
import { effectiveTenant } from './access/effective-tenant.js';
import { Lanes } from './access/lanes.js';
import { type BodyLimits, readDocument, refuseByLength, refuseByType } from './body.js';
import type { ApiEnv } from './env.js';
import { failureOf, unforeseen } from './failure.js';
import type { Hosts } from './hosts.js';
import { parseQuery } from './query.js';
import { Refused, refusalReply } from './refusal.js';
import { RouteTree } from './route-tree.js';
import type { Outcome, Route } from './route.js';
import { send } from './send.js';

/** What is known of a request so far, for its log line. */
interface Progress {
  readonly requestId: string;
  readonly startedAt: number;
  route: Route | undefined;
  caller: Caller;
  tenant: string;
}

const MAX_SECONDS = 30;

/**
 * What happens to every request, in this order and no other: limits, authentication, rate, tenant header, role, query,
 * body; and only then the route's own look-up inside the tenant.
 */
export class Pipeline {
  readonly #env: ApiEnv;
  readonly #tree: RouteTree;
  readonly #hosts: Hosts | undefined;
  readonly #lanes: Lanes;
  readonly #limits: BodyLimits;
  readonly #idPrefix: string;
  #requests = 0;

  /** `hosts` are the names to answer to, where that is looked at. */
  constructor(env: ApiEnv, routes: readonly Route[], hosts: Hosts | undefined) {
    this.#env = env;
    this.#tree = new RouteTree(routes);
    this.#hosts = hosts;
    this.#lanes = new Lanes(env.clock, env.settings);
    const { maxBodyBytes, maxBodyDepth } = env.settings;
    this.#limits = { maxBytes: maxBodyBytes, maxDepth: maxBodyDepth, maxSeconds: MAX_SECONDS };
    this.#idPrefix = `req_${env.random.bytes(6).toString('hex')}`;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = `${this.#idPrefix}${(++this.#requests).toString(36)}`;
    const startedAt = this.#env.clock.monotonic();
    const progress: Progress = { requestId, startedAt, route: undefined, caller: nobody, tenant: '' };
    let outcome: Outcome;
    try {
      outcome = await this.#outcome(request, progress);
    } catch (thrown) {
      if (response.destroyed || request.errored) return; // the client has gone: nobody to answer
      outcome = this.#failure(thrown, progress);
    }
    const reply = outcome instanceof Refused ? refusalReply(outcome, this.#env.baseUrl()) : outcome;
    send(response, reply, requestId, request.method === 'HEAD');
    this.#account(request, progress, reply.status, outcome);
  }

  async #outcome(request: IncomingMessage, progress: Progress): Promise<Outcome> {
    const { url = '/', method = 'GET', headers } = request;
    const strange = this.#hosts?.refuse(headers.host);
    if (strange) return strange;
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const found = this.#tree.find(method, path);
    if (found.kind === 'nothing') return new Refused(reject('endpoint_not_found', 'path', path));
    if (found.kind === 'method') {
      const { allowed } = found;
      return new Refused(reject('method_not_allowed', 'method', method, { methods: allowed }), {
        allow: allowed.join(', '),
      });
    }
    const { route, params } = found;
    progress.route = route;
    const tooLarge = route.body === 'json' ? refuseByLength(request, this.#limits) : undefined;
    if (tooLarge) return tooLarge;

    const caller = await this.#caller(request, route);
    if (caller instanceof Refused) return caller;
    progress.caller = caller;
    const busy = this.#lanes.refuse(caller);
    if (busy) return busy;

    const sent = headers['x-tenant-id'] === undefined ? NONE : (request.headersDistinct['x-tenant-id'] ?? NONE);
    const tenant = await effectiveTenant(caller, route.tenant, sent, this.#env.cache);
    if (tenant instanceof Refused) return tenant;
    progress.tenant = tenant;
    const forbidden = authorise(caller, route.access);
    if (forbidden) return forbidden;

    const query = parseQuery(mark < 0 ? '' : url.slice(mark + 1), route.query);
    if (query instanceof Refused) return query;
    const { requestId } = progress;
    if (route.body !== 'json')
      return route.handle({ request, requestId, caller, tenant, params, query, document: undefined });

    const read = refuseByType(request) ?? (await readDocument(request, this.#limits, this.#env.clock));
    if (read instanceof Refused) return read;
    return route.handle({ request, requestId, caller, tenant, params, query, document: read.document });
  }

  async #caller(request: IncomingMessage, route: Route): Promise<Caller | Refused> {
    if (route.access === 'open') return nobody;
    const caller = await authenticate(this.#env, request.headers.authorization);
    if (!(caller instanceof Refused)) return caller;
    return this.#lanes.refuseGuessing(request.socket.remoteAddress ?? '') ?? caller;
  }

  #failure(thrown: unknown, { requestId, route, tenant }: Progress): Refused {
    if (thrown instanceof LeaseGoneFault) this.#env.eventLeases.discard();
    const foreseen = failureOf(thrown);
    const fields = { requestId, tenant, ...(route && { route: route.path }), error: asError(thrown) };
    if (foreseen) this.#env.log.warn('request failed', fields);
    else this.#env.log.error('request failed', fields);
    return foreseen ?? unforeseen;
  }

  #account(
    request: IncomingMessage,
    { requestId, startedAt, route, caller, tenant }: Progress,
    status: number,
    outcome: Outcome,
  ): void {
    const { metrics, log, clock } = this.#env;
    const method = request.method ?? '';
    const path = route?.path ?? 'none';
    const ms = clock.monotonic() - startedAt;
    const code = outcome instanceof Refused ? outcome.rejections[0].code : undefined;
    metrics.count('mooring_http_requests_total', { method, route: path, status: String(status) });
    if (code !== undefined) metrics.count('mooring_rejections_total', { code });
    if (outcome instanceof Refused || 'body' in outcome) {
      metrics.observe('mooring_http_request_seconds', { method, route: path }, ms / 1000);
    }
    const isWrite = method !== 'GET' && method !== 'HEAD' && !path.startsWith('/agent/');
    const fields = { requestId, method, route: path, status, ms: Math.round(ms * 10) / 10, tenant, token: caller.id };
    log[isWrite ? 'info' : 'debug']('request', code === undefined ? fields : { ...fields, code });
  }
}

const NONE: readonly string[] = [];
