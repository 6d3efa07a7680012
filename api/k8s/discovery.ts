import { readProductVersion } from '../../pkg/version/index.js';
import { GROUP } from './objects.js';
import type { ServedResource, Verb } from './served.js';

/** A part of a resource that has its own path, such as `deployments/scale`. */
export interface Subresource {
  /** The resource that it belongs to. */
  readonly plural: string;
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly Verb[];
}

/** All that is served, by group. */
export interface Served {
  readonly resources: readonly ServedResource[];
  readonly subresources: readonly Subresource[];
}

/** The media type of aggregated discovery: clients do not take the document for one with any other. */
export const AGGREGATED_TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** The groups and their resources in one document. */
export function aggregate(served: Served, groups: readonly string[]): object {
  const items = groups.map(group => ({
    metadata: group === '' ? {} : { name: group },
    versions: [{ version: 'v1', freshness: 'Current', resources: listAggregated(served, group) }],
  }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
}

function listAggregated({ resources, subresources }: Served, group: string): readonly object[] {
  return resources
    .filter(each => each.group === group)
    .map(({ plural, kind, singular, shortNames, categories, verbs, isNamespaced }) => ({
      resource: plural,
      responseKind: { group, version: 'v1', kind },
      scope: isNamespaced ? 'Namespaced' : 'Cluster',
      singularResource: singular,
      verbs,
      shortNames,
      categories,
      subresources: subresources
        .filter(each => each.plural === plural)
        .map(each => ({
          subresource: each.name,
          responseKind: { group: each.group, version: each.version, kind: each.kind },
          verbs: each.verbs,
        })),
    }));
}

/** The resources of one group, as clients before aggregated discovery ask for them. */
export function listResources({ resources, subresources }: Served, group: string): object {
  const own = resources.filter(each => each.group === group);
  const rows = own.map(({ plural, kind, singular, shortNames, categories, verbs, isNamespaced }) => ({
    name: plural,
    singularName: singular,
    namespaced: isNamespaced,
    kind,
    verbs,
    shortNames,
    categories,
  }));
  const parts = subresources
    .filter(({ plural }) => own.some(each => each.plural === plural))
    .map(({ plural, name, ...each }) => ({
      name: `${plural}/${name}`,
      singularName: '',
      namespaced: true,
      group: each.group,
      version: each.version,
      kind: each.kind,
      verbs: each.verbs,
    }));
  const groupVersion = group === '' ? 'v1' : `${group}/v1`;
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: [...rows, ...parts] };
}

const version = (group: string) => ({ groupVersion: `${group}/v1`, version: 'v1' });

/** A group that has a name. */
export function describeGroup(group: string): object {
  return {
    kind: 'APIGroup',
    apiVersion: 'v1',
    name: group,
    versions: [version(group)],
    preferredVersion: version(group),
  };
}

/** The groups that have names. */
export function listGroups(groups: readonly string[]): object {
  const rows = groups.map(group => {
    const { kind: _kind, apiVersion: _apiVersion, ...row } = describeGroup(group) as Record<string, unknown>;
    return row;
  });
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: rows };
}

/** The versions of the group without a name. */
export const coreVersions = { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };

/** What `kubectl version` shows: ours, behind the version of Kubernetes whose protocol is spoken. */
export function describeVersion(): object {
  const [major, minor] = ['1', '32'];
  return {
    major,
    minor,
    gitVersion: `v${major}.${minor}.0+mooring-${readProductVersion()}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: '',
    platform: GROUP,
  };
}
