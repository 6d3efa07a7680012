import { defineColumns } from '../../crds/kind/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { value } from '../../pkg/store/index.js';
import type { KindReader } from '../routes/kind-routes.js';
import { GROUP, toTimestamp } from './objects.js';
import { COMMON_FIELDS } from './selectors.js';
import type { ServedResource } from './served.js';

/** Tenants as namespaces. A namespace is called as the id of its tenant, since two tenants may have one name. */
export function createNamespaceResource(reader: KindReader): ServedResource {
  return {
    group: '',
    kind: 'Namespace',
    plural: 'namespaces',
    singular: 'namespace',
    shortNames: ['ns'],
    categories: [],
    isNamespaced: false,
    verbs: ['get', 'list', 'watch'],
    fields: COMMON_FIELDS,
    columns: defineColumns<StoredTenant>([
      { title: 'NAME', value: ({ id }) => id },
      { title: 'TENANT', value: ({ name }) => name },
      { title: 'STATUS', value: () => 'Active' },
      { title: 'AGE', value: ({ createdAt }) => createdAt, format: 'age' },
    ]),
    reader,
    project: ({ entry }, resourceVersion) => {
      const tenant = value<StoredTenant>(entry);
      const { id, name, createdAt } = tenant;
      const object = {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: {
          name: id,
          uid: id,
          resourceVersion,
          creationTimestamp: toTimestamp(createdAt),
          labels: { 'kubernetes.io/metadata.name': id, [`${GROUP}/tenant`]: name },
        },
        spec: { finalizers: ['kubernetes'] },
        status: { phase: 'Active' },
      };
      return [{ object, view: tenant }];
    },
  };
}
