import type { StoredEvent } from '../../crds/event/index.js';
import { ranges } from '../../crds/keys/index.js';
import { type RefusedGroup, ungrouped } from '../../crds/scheduling/index.js';
import { type Entry, value } from '../../pkg/store/index.js';
import type { Resource } from '../watch/resource.js';
import { remembered } from './splice.js';

const GROUPS = Buffer.from('"data":{"groups":');

/** An event as clients see it: as it is stored, with its revision, and with every node by itself. */
export const eventView = remembered(entry => {
  const { bytes, revision } = entry;
  const body = bytes.includes(GROUPS) ? withCandidates(entry) : bytes;
  return Buffer.concat([Buffer.from(`{"revision":"${revision}",`), body.subarray(1)]);
});

/** Events, for lists and watches. */
export const eventResource: Resource = { range: ranges.events, view: eventView };

/** Nodes are stored in groups by what they have in common; clients hear of each what it says. */
function withCandidates(entry: Entry): Buffer {
  const event = value<StoredEvent>(entry);
  const { groups, ...data } = event.data;
  return Buffer.from(
    JSON.stringify({ ...event, data: { candidates: ungrouped(groups as readonly RefusedGroup[]), ...data } }),
  );
}
