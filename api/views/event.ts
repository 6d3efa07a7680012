import { ranges } from '../../crds/keys/index.js';
import type { Resource } from '../watch/resource.js';
import { remembered } from './splice.js';

/** An event as clients see it: as it is stored, with its revision. */
export const eventView = remembered(({ bytes, revision }) =>
  Buffer.concat([Buffer.from(`{"revision":"${revision}",`), bytes.subarray(1)]),
);

/** Events, for lists and watches. */
export const eventResource: Resource = { range: ranges.events, view: eventView };
