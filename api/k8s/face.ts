import { keys } from '../../crds/keys/index.js';
import { reject } from '../../crds/rejections/index.js';
import { BrokenInvariantFault } from '../../pkg/fault/index.js';
import { checkAccess } from '../access/authorise.js';
import { rejectRequest, RequestRejection } from '../http/reply.js';
import type { ApiCall, Route, RouteResult } from '../http/route.js';
import { getOperationRoute, type KindOperation } from '../../crds/kind/index.js';
import type { KindReader } from '../routes/kind-routes.js';
import { applyObject } from './apply.js';
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
import { createEventResource } from './events.js';
import { createNamespaceResource } from './namespaces.js';
import { OpenApiDocument } from './openapi.js';
import { GROUP } from './objects.js';
import { readPodLog } from './pod-logs.js';
import { createPodResource, logOfPods } from './pods.js';
import {
  findRendered,
  hasTenant,
  listOrWatch,
  type ReadEnv,
  replyObject,
  replyRendered,
  type ReadTarget,
} from './read.js';
import { APPLY_TYPE, type KubernetesBody } from './request.js';
import { listOwnResources, type ServedResource, toStatusSubject } from './served.js';
import {
  isAllowed,
  listRules,
  readReviewedAction,
  readReviewedNamespace,
  replyReview,
  type RightsEnv,
} from './reviews.js';
import { changeScale, getScale, scaleOfDeployments } from './scale.js';
import { OBJECT_TYPE, ObjectRejection } from './status.js';
import type { OwnWriteEnv } from './own-writes.js';
import type { WriteEnv } from '../write/write.js';
import { createObject, removeObject, patchObject, replaceObject } from './write.js';

/** What the face works with. */
export interface FaceEnv extends ReadEnv, WriteEnv {
  readonly readers: readonly KindReader[];
}

type WriteObject = (env: OwnWriteEnv, call: ApiCall, target: ReadTarget) => Promise<RouteResult>;

/** What of a pod is reached from outside its container: none of it is offered. */
const REACHED_INTO: readonly string[] = ['exec', 'attach', 'portforward'];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Everything below `/k8s`: requests of Kubernetes' clients, translated into reads and writes of our own API. */
export class Face {
  readonly #env: FaceEnv;
  readonly #routes: readonly Route[];
  readonly #served: Served;
  readonly #namespaces: ServedResource;
  readonly #openApi: OpenApiDocument;
  readonly #rights: RightsEnv;
  readonly #writeEnv: OwnWriteEnv;

  /** `routes` is the table of our own API: what a caller may do there is what it may do here. */
  constructor(env: FaceEnv, routes: readonly Route[]) {
    this.#env = env;
    this.#routes = routes;
    this.#namespaces = createNamespaceResource(findReader(env, 'tenants'));
    const pods = createPodResource(findReader(env, 'deployments'));
    const core = [this.#namespaces, createEventResource(findReader(env, 'events')), pods];
    const resources = [...core, ...listOwnResources(env.readers)];
    this.#served = { resources, subresources: [scaleOfDeployments, logOfPods] };
    this.#openApi = new OpenApiDocument(resources);
    const findRoute = (served: ServedResource, operation: KindOperation) => this.#findRoute(served, operation);
    this.#rights = { served: this.#served, findRoute };
    this.#writeEnv = {
      ...env,
      findRoute: ({ served }, operation) => findRoute(served, operation),
      findPatch: ({ served: { reader } }) => {
        const { path } = getOperationRoute(reader.kind, 'delete');
        return routes.find(each => each.method === 'PATCH' && each.path === path);
      },
    };
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
    const tenant = await this.#resolveNamespace(call);
    if (tenant instanceof RequestRejection) return tenant;
    return this.#show(call, this.#targetNamespaces(call), namespace);
  }

  async list(call: ApiCall): Promise<RouteResult> {
    const target = await this.#target(call, 'list');
    return target instanceof RequestRejection ? target : listOrWatch(this.#env, call, target);
  }

  async get(call: ApiCall): Promise<RouteResult> {
    const target = await this.#target(call, 'list');
    return target instanceof RequestRejection ? target : this.#show(call, target, call.params['name']!);
  }

  create(call: ApiCall): Promise<RouteResult> {
    return this.#write(call, 'create', createObject);
  }

  replace(call: ApiCall): Promise<RouteResult> {
    return this.#write(call, 'update', replaceObject);
  }

  patch(call: ApiCall): Promise<RouteResult> {
    const { type } = call.document as KubernetesBody;
    return this.#write(call, 'update', type === APPLY_TYPE ? applyObject : patchObject);
  }

  delete(call: ApiCall): Promise<RouteResult> {
    return this.#write(call, 'delete', removeObject);
  }

  getScale(call: ApiCall): Promise<RouteResult> {
    return this.#scale(call, 'list', getScale);
  }

  changeScale(call: ApiCall): Promise<RouteResult> {
    return this.#scale(call, 'update', changeScale);
  }

  /** Parts of pods: their logs, and what is not done to them. */
  async readPart(call: ApiCall): Promise<RouteResult> {
    const { plural = '', subresource = '', name = '' } = call.params;
    const target = await this.#target(call, 'list');
    if (target instanceof RequestRejection) return target;
    if (plural !== logOfPods.plural) return rejectRequest('endpoint_not_found', 'path', subresource);
    if (REACHED_INTO.includes(subresource)) {
      return new ObjectRejection(
        rejectRequest('exec_not_offered', 'path', subresource),
        toStatusSubject(target.served, name),
      );
    }
    if (subresource !== logOfPods.name || call.request.method !== 'GET') {
      return rejectRequest('endpoint_not_found', 'path', subresource);
    }
    const route = this.#find('GET', `/api/v1/deployments/{name}/logs`);
    return checkAccess(call.caller, route.access) ?? readPodLog(this.#env, call, target, route);
  }

  openApi(): RouteResult {
    return replyObject(200, this.#openApi.index);
  }

  openApiOfGroup(): RouteResult {
    return { status: 200, type: OBJECT_TYPE, body: this.#openApi.bytes };
  }

  /** Whether the caller may do something: `kubectl auth can-i`. */
  reviewAccess(call: ApiCall): RouteResult {
    const action = readReviewedAction(call);
    if (action instanceof RequestRejection) return action;
    const allowed = action !== undefined && isAllowed(this.#rights, call.caller, action);
    return replyReview('authorization.k8s.io', 'SelfSubjectAccessReview', { allowed });
  }

  reviewRules(call: ApiCall): RouteResult {
    const resourceRules = listRules(this.#rights, call.caller, readReviewedNamespace(call));
    const status = { resourceRules, nonResourceRules: [], incomplete: false };
    return replyReview('authorization.k8s.io', 'SelfSubjectRulesReview', status);
  }

  reviewSelf({ caller }: ApiCall): RouteResult {
    const groups = [
      'system:authenticated',
      `${GROUP}:${caller.kind}`,
      ...(caller.role ? [`${GROUP}:${caller.role}`] : []),
    ];
    const userInfo = { username: `${GROUP}:token:${caller.id}`, uid: caller.id, groups };
    return replyReview('authentication.k8s.io', 'SelfSubjectReview', { userInfo });
  }

  async #write(call: ApiCall, operation: KindOperation, write: WriteObject): Promise<RouteResult> {
    const target = await this.#target(call, operation);
    return target instanceof RequestRejection ? target : write(this.#writeEnv, call, target);
  }

  async #scale(call: ApiCall, operation: KindOperation, act: WriteObject): Promise<RouteResult> {
    const { plural, name } = scaleOfDeployments;
    if (call.params['plural'] !== plural || call.params['subresource'] !== name) {
      return rejectRequest('endpoint_not_found', 'path', call.params['subresource'] ?? '');
    }
    return this.#write(call, operation, act);
  }

  #discover({ request }: ApiCall, groups: readonly string[], legacy: object): RouteResult {
    if (!(request.headers.accept ?? '').includes('as=APIGroupDiscoveryList')) return replyObject(200, legacy);
    return { ...replyObject(200, aggregate(this.#served, groups)), type: AGGREGATED_TYPE };
  }

  async #show(call: ApiCall, target: ReadTarget, name: string): Promise<RouteResult> {
    const rendered = await findRendered(this.#env, target, name);
    if (rendered) return replyRendered(this.#env, call, target.served, rendered);
    return new ObjectRejection(rejectRequest('resource_not_found', 'name', name), toStatusSubject(target.served, name));
  }

  #targetNamespaces({ caller }: ApiCall): ReadTarget {
    const { tenant = '' } = caller;
    const isVisible = (key: string) => caller.kind === 'admin' || key === keys.tenant(tenant);
    return { served: this.#namespaces, tenant: '', isVisible };
  }

  /** What a path below a namespace is about, where the caller may do that there. */
  async #target(call: ApiCall, operation: KindOperation): Promise<ReadTarget | RequestRejection> {
    const group = call.request.url?.startsWith('/k8s/apis/') ? GROUP : '';
    const { plural } = call.params;
    const served = this.#served.resources.find(each => each.plural === plural && each.group === group);
    if (!served?.isNamespaced) return rejectRequest('endpoint_not_found', 'path', plural ?? '');
    const tenant = await this.#resolveNamespace(call);
    if (tenant instanceof RequestRejection) return tenant;
    const { kind } = served.reader;
    if (operation !== 'list' && !kind.kubernetes) {
      const refusal = reject('method_not_allowed', 'method', call.request.method, { methods: ['GET'] });
      return new RequestRejection(refusal, { allow: 'GET' });
    }
    const forbidden = checkAccess(call.caller, this.#findRoute(served, operation).access);
    return forbidden ?? { served, tenant };
  }

  /** The route of our own API whose rights an operation needs. */
  #findRoute({ reader: { kind } }: ServedResource, operation: KindOperation): Route {
    // Of a kind that is not changed as a whole the annotations still are, by those who may create it.
    const own = kind.operations.includes(operation) ? operation : 'create';
    const { method, path } = getOperationRoute(kind, own);
    return this.#find(method, path);
  }

  #find(method: string, path: string): Route {
    const route = this.#routes.find(each => each.method === method && each.path === path);
    if (!route) throw new BrokenInvariantFault(`${method} ${path} is not served`);
    return route;
  }

  /**
   * The tenant that a namespace is. To a tenant every other namespace is the same, whether there is a tenant of that name or
   * not.
   */
  async #resolveNamespace({ caller, tenant, params }: ApiCall): Promise<string | RequestRejection> {
    const { namespace } = params;
    if (namespace === undefined) {
      return tenant === '' ? rejectRequest('tenant_header_required', 'namespace', '') : tenant;
    }
    if (tenant !== '') return namespace === tenant ? tenant : rejectRequest('tenant_mismatch', 'namespace', namespace);
    if (caller.kind === 'admin' && UUID.test(namespace) && (await hasTenant(this.#env, namespace))) return namespace;
    const missing = rejectRequest('resource_not_found', 'namespace', namespace);
    return new ObjectRejection(missing, toStatusSubject(this.#namespaces, namespace));
  }
}

function findReader({ readers }: FaceEnv, plural: string): KindReader {
  const reader = readers.find(({ kind }) => kind.plural === plural);
  if (!reader) throw new BrokenInvariantFault(`the kind of ${plural} is not served`);
  return reader;
}
