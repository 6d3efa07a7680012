import type { EventView } from './views.js';

/** Events that are drawn, and what was asked for: a filter. */
export interface HeldEvents {
  readonly events: readonly EventView[];
  readonly asked: string;
}

/** Events that stay what they are while they are held, until something else is asked for. */
export function holdEvents(stood: HeldEvents, now: HeldEvents, isHeld: boolean): HeldEvents {
  return isHeld && stood.asked === now.asked ? stood : now;
}
