import { expect } from 'chai';

import { type HeldEvents, holdEvents } from './held-events.js';
import type { EventView } from './views.js';

const show = (ids: string, asked: string): HeldEvents => ({
  events: ids.split('').map(id => ({ id }) as EventView),
  asked,
});

/** What stood, what there is now, whether it is held, and what is drawn; one letter is one event. */
const cases: readonly (readonly [string, HeldEvents, HeldEvents, boolean, string])[] = [
  ['as they are, when nobody points', show('ba', ''), show('cba', ''), false, 'cba'],
  ['as they stood, while someone points', show('ba', ''), show('cba', ''), true, 'ba'],
  ['anew when something else is asked for, while someone points', show('ba', ''), show('ca', 'web'), true, 'ca'],
];

describe('events, while someone reads them', () => {
  for (const [title, stood, now, isHeld, drawn] of cases) {
    it(`are drawn ${title}`, () => {
      const { events } = holdEvents(stood, now, isHeld);
      expect(events.map(({ id }) => id).join('')).to.equal(drawn);
    });
  }
});
