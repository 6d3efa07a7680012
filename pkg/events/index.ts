/**
 * Writing events: an event is a put in the transaction of the change that it announces.
 *
 * `EventWriter` only builds puts; whoever makes the change commits them, so there is no event of something that
 * did not happen and nothing that happened without its event.
 *
 * @module
 */
export { EventLeases } from './event-leases.js';
export type { EventDraft } from './event-writer.js';
export { EventWriter } from './event-writer.js';
