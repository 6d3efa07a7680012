/**
 * Events: what happened, in the words of whoever saw it, at `events/<tenant>/<id>`.
 *
 * Ids sort by time. One standing cause is one event with a count, never a flood.
 *
 * @module
 */
export type { StoredEvent } from './event.js';
export { eventKind } from './kind.js';
