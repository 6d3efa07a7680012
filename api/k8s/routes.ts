import type { Method, Route } from '../http/route.js';
import type { Face, FaceEnv } from './face.js';
import { QUERY } from './request.js';
import { FACE_PREFIX } from './status.js';

type Action = { [Name in keyof Face]: Face[Name] extends (call: never) => unknown ? Name : never }[keyof Face];

const OWN = '/apis/mooring.io/v1';
const CORE = '/api/v1';

/** Every path of the face. `{plural}` names a resource, as discovery does. */
const ROWS: readonly (readonly [Method, path: string, Action])[] = [
  ['GET', '/version', 'version'],
  ['GET', '/api', 'core'],
  ['GET', '/apis', 'groups'],
  ['GET', CORE, 'coreResources'],
  ['GET', '/apis/mooring.io', 'group'],
  ['GET', OWN, 'groupResources'],
  ['GET', `${CORE}/namespaces`, 'listNamespaces'],
  ['GET', `${CORE}/namespaces/{namespace}`, 'getNamespace'],
  ['GET', `${CORE}/{plural}`, 'list'],
  ['GET', `${CORE}/namespaces/{namespace}/{plural}`, 'list'],
  ['GET', `${CORE}/namespaces/{namespace}/{plural}/{name}`, 'get'],
  ['GET', `${CORE}/namespaces/{namespace}/{plural}/{name}/{subresource}`, 'readPart'],
  ['POST', `${CORE}/namespaces/{namespace}/{plural}/{name}/{subresource}`, 'readPart'],
  ['GET', `${OWN}/{plural}`, 'list'],
  ['GET', `${OWN}/namespaces/{namespace}/{plural}`, 'list'],
  ['POST', `${OWN}/namespaces/{namespace}/{plural}`, 'create'],
  ['GET', `${OWN}/namespaces/{namespace}/{plural}/{name}`, 'get'],
  ['PUT', `${OWN}/namespaces/{namespace}/{plural}/{name}`, 'replace'],
  ['PATCH', `${OWN}/namespaces/{namespace}/{plural}/{name}`, 'patch'],
  ['DELETE', `${OWN}/namespaces/{namespace}/{plural}/{name}`, 'delete'],
  ['GET', `${OWN}/namespaces/{namespace}/{plural}/{name}/{subresource}`, 'getScale'],
  ['PUT', `${OWN}/namespaces/{namespace}/{plural}/{name}/{subresource}`, 'changeScale'],
  ['PATCH', `${OWN}/namespaces/{namespace}/{plural}/{name}/{subresource}`, 'changeScale'],
  ['GET', '/openapi/v3', 'openApi'],
  ['GET', `/openapi/v3${OWN}`, 'openApiOfGroup'],
  ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'reviewAccess'],
  ['POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', 'reviewRules'],
  ['POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', 'reviewSelf'],
];

/** They answer a POST, and store nothing. */
const ASKED_BY_POST: readonly Action[] = ['readPart', 'reviewAccess', 'reviewRules', 'reviewSelf'];

/**
 * The Kubernetes face: a translation of what kubectl and other clients of Kubernetes ask into our own API. Its code is
 * loaded by the first request. `all` is the whole table of routes.
 */
export function createKubernetesRoutes(env: FaceEnv, all: () => readonly Route[]): readonly Route[] {
  let loading: Promise<Face> | undefined;
  const load = () =>
    (loading ??= import('./face.js')
      .then(module => new module.Face(env, all()))
      .catch((thrown: unknown) => {
        loading = undefined; // out of file descriptors, perhaps: the next request tries again
        throw thrown;
      }));
  return ROWS.map(([method, path, action]) => ({
    method,
    path: FACE_PREFIX + path,
    access: { tenant: 'viewer', admin: true },
    tenant: 'chosen',
    query: QUERY,
    body: method === 'GET' ? 'none' : 'json',
    face: 'kubernetes',
    ...(ASKED_BY_POST.includes(action) && { grows: false }),
    handle: async call => (await load())[action](call),
  }));
}
