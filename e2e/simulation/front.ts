import { type Api, type ApiDeps, authenticateCaller, createApi, NodeProofs } from '../../api/index.js';
import type { SimProcess } from '../../dev/simulation/index.js';
import {
  AGENT_HEADER,
  type AgentDispatcher,
  type AgentIdentity,
  LinkRefusedFault,
  parseAgentRun,
  TIME_HEADER,
} from '../../pkg/link/index.js';
import { SecretStoreUnavailableFault } from '../../pkg/secrets/index.js';
import { ConflictFault, StoreUnavailableFault } from '../../pkg/store/index.js';
import type { Signatures } from './signatures.js';

type Route = Api['routes'][number];
type Call = Parameters<Route['handle']>[0];

/** A request as it reaches a route: who asks has been found out already. */
export interface Request {
  readonly method: Route['method'];
  /** As the route table has it. */
  readonly path: string;
  readonly tenant: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly document?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly caller?: Partial<Call['caller']>;
  /** Goes into what is stored, so that every write can be identified. */
  readonly op?: string;
}

/** The part of an agent's request that says who sends it. */
export interface AgentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: 'json' | 'none';
}

/** The answer to the caller: stored, certainly not stored, or unknown. */
export type Answer =
  | { readonly told: 'stored'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly told: 'refused'; readonly status: number; readonly code: string; readonly serverTime?: number }
  | { readonly told: 'unknown' };

export const nobodyAnswered: Answer = { told: 'refused', status: 503, code: 'store_unavailable' };

/** The routes of an API server, without the socket: everything behind the pipeline is the product's own. */
export class Front {
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #deps: ApiDeps;
  readonly #proofs: NodeProofs;

  /** To be called before the cache is fed. */
  constructor(deps: ApiDeps, signatures: Signatures) {
    this.#deps = deps;
    this.#proofs = new NodeProofs(deps, (...signed) => signatures.check(...signed));
    this.#routes = new Map(createApi(deps).routes.map(route => [`${route.method} ${route.path}`, route]));
  }

  /** The node that an agent's request speaks for, by its token and its proof as the pipeline checks them. */
  async identify({ method, path, headers, body }: AgentRequest): Promise<AgentIdentity> {
    const caller = await authenticateCaller(this.#deps, headers['authorization']);
    const proof =
      'rejections' in caller ? caller : await this.#proofs.check(caller, { method, url: path, headers }, body);
    if ('rejections' in proof) {
      const { status, code, serverTime } = toRefusal(proof);
      throw new LinkRefusedFault(status, code, serverTime);
    }
    const { tenant = '', node = '', nodeName = '' } = ('token' in caller && caller.token) || {};
    return { tenant, id: node, name: nodeName, run: parseAgentRun(headers[AGENT_HEADER]!)! };
  }

  async ask({
    method,
    path,
    tenant,
    params = {},
    query = {},
    document,
    headers = {},
    caller,
    op = '',
  }: Request): Promise<Answer> {
    const route = this.#routes.get(`${method} ${path}`)!;
    const request = { headers, socket: {} } as unknown as Call['request'];
    const who = { kind: 'admin', id: 'somebody', tenant, role: 'admin', token: undefined, ...caller } as const;
    try {
      const sent = { tenant, params, query: new Map(Object.entries(query)), isDryRun: false, document };
      const outcome = await route.handle({ request, requestId: op, caller: who, ...sent });
      if ('rejections' in outcome) return { told: 'refused', ...toRefusal(outcome) };
      const body = 'body' in outcome ? Buffer.concat([outcome.body].flat()).toString() : '{}';
      return { told: 'stored', body: JSON.parse(body) as Readonly<Record<string, unknown>> };
    } catch (thrown) {
      return isCertain(thrown) ? nobodyAnswered : { told: 'unknown' };
    }
  }
}

type Rejected = Extract<Awaited<ReturnType<NodeProofs['check']>>, { readonly rejections: unknown }>;

/** What a client hears of a rejection: an agent whose clock is off is told the time. */
function toRefusal({ rejections: [{ status, code }], headers }: Rejected) {
  const time = Number(headers[TIME_HEADER]);
  return { status, code, ...(time > 0 && { serverTime: time }) };
}

/** Whether a failure is answered with a rejection, which promises that nothing was stored. */
function isCertain(thrown: unknown): boolean {
  const faults = [StoreUnavailableFault, SecretStoreUnavailableFault, ConflictFault];
  return faults.some(fault => thrown instanceof fault);
}

/** An API server that is up. */
export interface ApiServer {
  readonly life: SimProcess;
  readonly dispatcher: AgentDispatcher;
  readonly front: Front;
}
