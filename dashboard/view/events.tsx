import { useSignal } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import { EventList, takeNewest, useHeldEvents } from './event-list.js';

const PAGE = 200;

/** Everything that has happened, the newest first, as it happens. */
export function Events({ session }: { readonly session: OpenSession }) {
  const filter = useSignal('');
  const warningsOnly = useSignal(false);
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [...session.events.value.items.values()];
  const events = all.filter(({ type, message, severity, subject, reason }) => {
    if (warningsOnly.value && severity !== 'warning') return false;
    const text = `${type} ${reason} ${subject.kind}/${subject.name} ${message}`.toLowerCase();
    return words.every(word => text.includes(word));
  });
  const asked = [warningsOnly.value, ...words].join(' ');
  const { drawn, newer, handlers } = useHeldEvents(takeNewest(events, PAGE), asked);
  return (
    <>
      <h1>Events</h1>
      <div class="tools">
        <input
          id="search"
          type="search"
          placeholder="Filter by type, subject or message"
          aria-label="Filter events"
          value={filter.value}
          onInput={event => (filter.value = event.currentTarget.value)}
        />
        <label>
          <input
            type="checkbox"
            checked={warningsOnly.value}
            onChange={event => (warningsOnly.value = event.currentTarget.checked)}
          />{' '}
          warnings only
        </label>
        <span class="soft" role="status">
          {events.length} of the last {all.length}
          {newer > 0 && `; ${newer} newer, shown when you point elsewhere`}
        </span>
      </div>
      <section class="panel" {...handlers}>
        <EventList events={drawn} />
      </section>
    </>
  );
}
