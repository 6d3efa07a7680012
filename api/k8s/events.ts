import type { StoredEvent } from '../../crds/event/index.js';
import { value } from '../../pkg/store/index.js';
import type { KindReader } from '../routes/kind-routes.js';
import { GROUP, toTimestamp } from './objects.js';
import { COMMON_FIELDS } from './selectors.js';
import type { ServedResource } from './served.js';

const SELECTED = ['kind', 'name', 'namespace', 'uid', 'apiVersion'].map(field => `involvedObject.${field}`);

/** Our events as those of Kubernetes, which `kubectl describe` and `kubectl events` show. */
export function createEventResource(reader: KindReader): ServedResource {
  return {
    group: '',
    kind: 'Event',
    plural: 'events',
    singular: 'event',
    shortNames: ['ev'],
    categories: [],
    isNamespaced: true,
    verbs: ['get', 'list', 'watch'],
    fields: [...COMMON_FIELDS, ...SELECTED, 'reason', 'type'],
    columns: reader.kind.columns,
    reader,
    project: ({ entry }, resourceVersion) => {
      const event = value<StoredEvent>(entry);
      const { id, tenant, subject, at, lastSeenAt, count, severity, reason, message } = event;
      const object = {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: id, namespace: tenant, uid: id, resourceVersion, creationTimestamp: toTimestamp(at) },
        involvedObject: {
          apiVersion: `${GROUP}/v1`,
          kind: subject.kind,
          namespace: tenant,
          name: subject.name,
          uid: subject.id,
        },
        type: severity === 'warning' ? 'Warning' : 'Normal',
        reason,
        message,
        count,
        firstTimestamp: toTimestamp(at),
        lastTimestamp: toTimestamp(lastSeenAt),
        source: { component: 'mooring' },
        reportingComponent: 'mooring',
        reportingInstance: '',
      };
      return [{ object, view: event }];
    },
  };
}
