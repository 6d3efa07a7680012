/**
 * Events: what happened to an object, written by the process that saw it, at `events/<tenant>/<id>`.
 *
 * Ids sort by time. One standing cause is one event with a count, never a flood.
 *
 * @module
 */
export type { EventView, StoredEvent } from './event.js';
export { eventKind } from './kind.js';
