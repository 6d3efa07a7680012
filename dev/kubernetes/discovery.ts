import type { StoredObject } from './objects.js';

/** A kind of object, as clients such as kubectl are told of it. */
interface ServedKind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly isOfCluster?: boolean;
}

const RBAC = 'rbac.authorization.k8s.io';
const BUILT_IN: readonly ServedKind[] = [
  { group: '', plural: 'namespaces', kind: 'Namespace', isOfCluster: true },
  { group: '', plural: 'configmaps', kind: 'ConfigMap' },
  { group: '', plural: 'events', kind: 'Event' },
  { group: '', plural: 'pods', kind: 'Pod' },
  { group: '', plural: 'resourcequotas', kind: 'ResourceQuota' },
  { group: '', plural: 'secrets', kind: 'Secret' },
  { group: '', plural: 'serviceaccounts', kind: 'ServiceAccount' },
  {
    group: 'apiextensions.k8s.io',
    plural: 'customresourcedefinitions',
    kind: 'CustomResourceDefinition',
    isOfCluster: true,
  },
  { group: 'coordination.k8s.io', plural: 'leases', kind: 'Lease' },
  { group: RBAC, plural: 'roles', kind: 'Role' },
  { group: RBAC, plural: 'rolebindings', kind: 'RoleBinding' },
];
const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];

/** Where the definitions of custom resources are among the objects. */
export const DEFINITIONS = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  namespace: '',
} as const;

/** What a cluster says of itself at a path; undefined: nothing. Everything is version v1. */
export function discover(path: string, definitions: readonly StoredObject[]): object | undefined {
  const kinds = [...BUILT_IN, ...definitions.map(readDefinition)];
  const groups = [...new Set(kinds.map(({ group }) => group))];
  const places = groups.map(group => (group === '' ? 'api/v1' : `apis/${group}/v1`));
  switch (path) {
    case '/version':
      return { major: '1', minor: '33', gitVersion: 'v1.33.0' };
    case '/api':
      return { kind: 'APIVersions', versions: ['v1'] };
    case '/apis':
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.filter(Boolean).map(describeGroup) };
    case '/openapi/v3':
      return { paths: Object.fromEntries(places.map(at => [at, { serverRelativeURL: `/openapi/v3/${at}` }])) };
  }
  const [, isDocument, at] = /^\/(openapi\/v3\/)?(.+)$/.exec(path) ?? [];
  const group = groups[places.indexOf(at ?? '')];
  if (group === undefined) return undefined;
  const own = kinds.filter(each => each.group === group);
  return isDocument ? describePaths(at!, own) : listResources(group, own);
}

function readDefinition({ spec }: StoredObject): ServedKind {
  const { group, names } = spec as { group: string; names: { plural: string; kind: string } };
  return { group, plural: names.plural, kind: names.kind };
}

function describeGroup(name: string): object {
  const version = { groupVersion: `${name}/v1`, version: 'v1' };
  return { name, versions: [version], preferredVersion: version };
}

function listResources(group: string, kinds: readonly ServedKind[]): object {
  const resources = kinds.map(({ plural, kind, isOfCluster = false }) => ({
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced: !isOfCluster,
    kind,
    verbs: VERBS,
  }));
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: group === '' ? 'v1' : `${group}/v1`, resources };
}

/** `fieldValidation` tells kubectl that it need not judge fields itself; the stand-in does not judge them either. */
function describePaths(at: string, kinds: readonly ServedKind[]): object {
  const parameters = [{ name: 'fieldValidation', in: 'query', schema: { type: 'string' } }];
  const toPath = ({ group, plural, kind, isOfCluster }: ServedKind) => [
    `/${at}/${isOfCluster ? '' : 'namespaces/{namespace}/'}${plural}/{name}`,
    { patch: { 'x-kubernetes-group-version-kind': { group, version: 'v1', kind }, parameters } },
  ];
  const info = { title: 'stand-in', version: 'v1' };
  return { openapi: '3.0.0', info, paths: Object.fromEntries(kinds.map(toPath)), components: { schemas: {} } };
}
