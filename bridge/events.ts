import { type MirrorSide, OvertakenFault } from './mirror-side.js';
import type { MirroredObject } from './mirror.js';
import { UID } from './mirror.js';

/** An event of Mooring, as its face shows it. */
export interface FaceEvent {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly involvedObject: { readonly kind: string; readonly name: string; readonly uid: string };
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
}

/** As long as Kubernetes keeps events by default: older ones are not written again. */
const KEPT_MS = 3_600_000;

/** Whether an event is still news. */
export function isRecent({ lastTimestamp }: FaceEvent, now: number): boolean {
  const at = Date.parse(lastTimestamp);
  return Number.isFinite(at) && now - at < KEPT_MS;
}

/** An event of Mooring, about the object of the cluster that stands for its subject. Undefined when that is another one. */
export function toClusterEvent(event: FaceEvent, namespace: string, object: MirroredObject): object | undefined {
  if (object.metadata.annotations?.[UID] !== event.involvedObject.uid) return undefined;
  const { type, reason, message, count, firstTimestamp, lastTimestamp } = event;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${object.metadata.name}.${event.metadata.name.replaceAll('_', '-')}`, namespace },
    involvedObject: {
      apiVersion: 'mooring.io/v1',
      kind: event.involvedObject.kind,
      namespace,
      name: object.metadata.name,
      uid: object.metadata.uid,
    },
    type,
    reason,
    message,
    count,
    firstTimestamp,
    lastTimestamp,
    source: { component: 'mooring-bridge' },
    reportingComponent: 'mooring-bridge',
    reportingInstance: '',
  };
}

/** Writes an event to the cluster; an existing one is counted up. */
export async function writeEvent(cluster: MirrorSide, namespace: string, event: object): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/events`;
  try {
    await cluster.request('POST', path, event);
  } catch (thrown) {
    if (!(thrown instanceof OvertakenFault)) throw thrown;
    const { metadata, count } = event as FaceEvent;
    const known = await cluster.find<FaceEvent>(path, metadata.name);
    if (!known || known.count >= count) return;
    const { resourceVersion } = known.metadata;
    await cluster.request('PUT', `${path}/${metadata.name}`, { ...event, metadata: { ...metadata, resourceVersion } });
  }
}
