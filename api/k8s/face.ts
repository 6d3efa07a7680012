import { BrokenInvariantFault } from '../../pkg/fault/index.js';
import { checkAccess } from '../access/authorise.js';
import { rejectRequest, RequestRejection } from '../http/reply.js';
import type { ApiCall, Route, RouteResult } from '../http/route.js';
import { getOperationRoute, type KindOperation } from '../../crds/kind/index.js';
import type { KindReader } from '../routes/kind-routes.js';
import {
  AGGREGATED_TYPE,
  aggregate,
  coreVersions,
  describeGroup,
  describeVersion,
  listGroups,
  listResources,
  type Served,
} from './discovery.js';
import { createNamespaceResource } from './namespaces.js';
import { GROUP } from './objects.js';
import { findShown, hasTenant, listOrWatch, type ReadEnv, replyObject, replyShown, type ReadTarget } from './read.js';
import { listOwnResources, type ServedResource, toStatusSubject } from './served.js';
import { ObjectRejection } from './status.js';

/** What the face works with. */
export interface FaceEnv extends ReadEnv {
  readonly readers: readonly KindReader[];
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Everything below `/k8s`: requests of Kubernetes' clients, translated into reads and writes of our own API. */
export class Face {
  readonly #env: FaceEnv;
  readonly #routes: readonly Route[];
  readonly #served: Served;
  readonly #namespaces: ServedResource;

  /** `routes` is the table of our own API: what a caller may do there is what it may do here. */
  constructor(env: FaceEnv, routes: readonly Route[]) {
    this.#env = env;
    this.#routes = routes;
    const tenants = env.readers.find(({ kind }) => kind.plural === 'tenants');
    if (!tenants) throw new BrokenInvariantFault('the kind of tenants is not served');
    this.#namespaces = createNamespaceResource(tenants);
    this.#served = { resources: [this.#namespaces, ...listOwnResources(env.readers)], subresources: [] };
  }

  version(): RouteResult {
    return replyObject(200, describeVersion());
  }

  core(call: ApiCall): RouteResult {
    return this.#discover(call, [''], coreVersions);
  }

  groups(call: ApiCall): RouteResult {
    return this.#discover(call, [GROUP], listGroups([GROUP]));
  }

  coreResources(): RouteResult {
    return replyObject(200, listResources(this.#served, ''));
  }

  group(): RouteResult {
    return replyObject(200, describeGroup(GROUP));
  }

  groupResources(): RouteResult {
    return replyObject(200, listResources(this.#served, GROUP));
  }

  /** The tenants that the caller may see. */
  async listNamespaces(call: ApiCall): Promise<RouteResult> {
    return listOrWatch(this.#env, call, this.#targetNamespaces(call));
  }

  async getNamespace(call: ApiCall): Promise<RouteResult> {
    const { namespace = '' } = call.params;
    const tenant = this.#resolveNamespace(call);
    if (tenant instanceof RequestRejection) return tenant;
    return this.#show(call, this.#targetNamespaces(call), namespace);
  }

  async list(call: ApiCall): Promise<RouteResult> {
    const target = this.#target(call, 'list');
    return target instanceof RequestRejection ? target : listOrWatch(this.#env, call, target);
  }

  async get(call: ApiCall): Promise<RouteResult> {
    const target = this.#target(call, 'list');
    return target instanceof RequestRejection ? target : this.#show(call, target, call.params['name']!);
  }

  #discover({ request }: ApiCall, groups: readonly string[], legacy: object): RouteResult {
    if (!(request.headers.accept ?? '').includes('as=APIGroupDiscoveryList')) return replyObject(200, legacy);
    return { ...replyObject(200, aggregate(this.#served, groups)), type: AGGREGATED_TYPE };
  }

  async #show(call: ApiCall, target: ReadTarget, name: string): Promise<RouteResult> {
    const shown = await findShown(this.#env, target, name);
    if (shown) return replyShown(this.#env, call, target.served, shown);
    return new ObjectRejection(rejectRequest('resource_not_found', 'name', name), toStatusSubject(target.served, name));
  }

  #targetNamespaces({ caller }: ApiCall): ReadTarget {
    const isVisible = ({ metadata }: { readonly metadata: { readonly name: string } }) =>
      caller.kind === 'admin' || metadata.name === caller.tenant;
    return { served: this.#namespaces, tenant: '', isVisible };
  }

  /** What a path below a namespace is about, where the caller may do that there. */
  #target(call: ApiCall, operation: KindOperation): ReadTarget | RequestRejection {
    const group = call.request.url?.startsWith('/k8s/apis/') ? GROUP : '';
    const { plural } = call.params;
    const served = this.#served.resources.find(each => each.plural === plural && each.group === group);
    if (!served?.isNamespaced) return rejectRequest('endpoint_not_found', 'path', plural ?? '');
    const tenant = this.#resolveNamespace(call);
    if (tenant instanceof RequestRejection) return tenant;
    const forbidden = checkAccess(call.caller, this.#findRoute(served, operation).access);
    return forbidden ?? { served, tenant };
  }

  #findRoute({ reader }: ServedResource, operation: KindOperation): Route {
    const { method, path } = getOperationRoute(reader.kind, operation);
    const route = this.#routes.find(each => each.method === method && each.path === path);
    if (!route) throw new BrokenInvariantFault(`${method} ${path} is not served`);
    return route;
  }

  /**
   * The tenant that a namespace is. To a tenant every other namespace is the same, whether there is a tenant of that name or
   * not.
   */
  #resolveNamespace({ caller, tenant, params }: ApiCall): string | RequestRejection {
    const { namespace } = params;
    if (namespace === undefined) {
      return tenant === '' ? rejectRequest('tenant_header_required', 'namespace', '') : tenant;
    }
    if (tenant !== '') return namespace === tenant ? tenant : rejectRequest('tenant_mismatch', 'namespace', namespace);
    if (caller.kind === 'admin' && UUID.test(namespace) && hasTenant(this.#env, namespace)) return namespace;
    const missing = rejectRequest('resource_not_found', 'namespace', namespace);
    return new ObjectRejection(missing, toStatusSubject(this.#namespaces, namespace));
  }
}
