import { eventKind, type StoredEvent } from '../../../crds/event/index.js';
import { eventTypes } from '../../../crds/kinds/index.js';
import { type RejectionGroup, ungroupRejections } from '../../../crds/scheduling/index.js';
import { type Entry, toSoundBytes, value } from '../../../pkg/store/index.js';
import { type QueryParams, rejectParameter } from '../../http/query.js';
import { parseCursor } from '../../watch/frame.js';
import type { ReaderOptions } from '../kind-routes.js';

/** Events are read like other kinds, but from the store, since they outlive their subjects; and by their type, by their subject, and from a revision on. */
export const eventReader: ReaderOptions = {
  resource: { range: eventKind.range, view: renderEvent, isUncached: true },
  query: ['type', 'subject'],
  listsAfter: true,
  filter: (query, operation) => {
    const type = query.get('type');
    if (type !== undefined && !eventTypes.includes(type)) {
      return rejectParameter('type', type, `one of ${eventTypes.join(', ')}`);
    }
    const isSelected = createFilter(query);
    const after = operation === 'list' ? query.get('after') : undefined;
    if (after === undefined) return isSelected;
    const cursor = parseCursor(after);
    if (!cursor) return rejectParameter('after', after, 'a cursor of a watch, or the revision of a list');
    return entry => entry.revision > cursor.revision && (isSelected?.(entry) ?? true);
  },
};

/** `type` is an event type; `subject` a name, an id, or a kind and a name as `Deployment/web`. */
function createFilter(query: QueryParams): ((entry: Entry) => boolean) | undefined {
  const type = query.get('type');
  const subject = query.get('subject');
  if (type === undefined && subject === undefined) return undefined;
  return entry => {
    const event = value<StoredEvent>(entry);
    if (type !== undefined && event.type !== type) return false;
    if (subject === undefined) return true;
    const { kind, name, id } = event.subject;
    return subject === name || subject === id || subject === `${kind}/${name}`;
  };
}

const GROUPS = Buffer.from('"data":{"groups":');

/** An event as clients see it: as it is stored, with its revision, and with one entry for each node. */
function renderEvent(entry: Entry): Buffer {
  const { revision } = entry;
  const bytes = toSoundBytes(entry);
  const body = bytes.includes(GROUPS) ? expandGroups(entry) : bytes;
  return Buffer.concat([Buffer.from(`{"revision":"${revision}",`), body.subarray(1)]);
}

/** Nodes are stored in groups with equal rejections; clients get the rejections of each node. */
function expandGroups(entry: Entry): Buffer {
  const event = value<StoredEvent>(entry);
  const { groups, ...data } = event.data;
  return Buffer.from(
    JSON.stringify({ ...event, data: { candidates: ungroupRejections(groups as readonly RejectionGroup[]), ...data } }),
  );
}
