/**
 * The fencer: a small process of its own beside each agent that keeps volumes. It kills what writes to replicated volumes when the agent has not
 * put that off in time. A copy is promoted elsewhere because of that alone, whatever has become of the agent and of the engine (ADR 68).
 *
 * @module
 */
export { FencerLink } from './find-fencer.js';
export type { FencerDeadline, Fencer } from './order.js';
export { locateFencer } from './place.js';
export { startFencer } from './start-fencer.js';
