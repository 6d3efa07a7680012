import type { StoredEvent } from '../../crds/event/index.js';
import { value } from '../../pkg/store/index.js';
import { isFields } from '../http/body.js';
import type { KindReader } from '../routes/kind-routes.js';
import { GROUP, toTimestamp } from './objects.js';
import { toPodName, toPodUid } from './pods.js';
import { COMMON_FIELDS } from './selectors.js';
import type { ServedResource } from './served.js';
import type { RenderedObject } from './table.js';

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
    toStoredName: name => name.split('.')[0],
    project: ({ entry }, resourceVersion) => {
      const event = value<StoredEvent>(entry);
      return [event, ...listPodEvents(event)].map(each => toRendered(each, resourceVersion));
    },
  };
}

/**
 * An event of a deployment that names some of its replicas, once more about the pod of each. Those are events that are
 * written once: of one that is counted up a watch could not say which pods it has ceased to name.
 */
export function listPodEvents(event: StoredEvent): readonly StoredEvent[] {
  const { subject, data } = event;
  if (subject.kind !== 'Deployment' || !isFields(data)) return [];
  const named: unknown = data['placements'] ?? data['replicas'];
  return (Array.isArray(named) ? named : []).filter(isReplica).map(({ replica, generation, node }) => ({
    ...event,
    id: `${event.id}.${replica}`,
    message: typeof node === 'string' ? `replica ${replica} on ${node}` : event.message,
    subject: {
      kind: 'Pod',
      name: toPodName(subject.name, replica),
      id: toPodUid(subject.id, replica, generation),
    },
  }));
}

interface NamedReplica {
  readonly replica: number;
  readonly generation: number;
  readonly node?: unknown;
}

function isReplica(named: unknown): named is NamedReplica {
  return isFields(named) && Number.isInteger(named['replica']) && Number.isInteger(named['generation']);
}

function toRendered(event: StoredEvent, resourceVersion: string): RenderedObject {
  const { id, tenant, subject, at, lastSeenAt, count, severity, reason, message } = event;
  const object = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: id, namespace: tenant, uid: id, resourceVersion, creationTimestamp: toTimestamp(at) },
    involvedObject: {
      apiVersion: subject.kind === 'Pod' ? 'v1' : `${GROUP}/v1`,
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
  return { object, view: event };
}
